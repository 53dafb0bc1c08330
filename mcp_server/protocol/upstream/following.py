"""A call that its server made a task of: looked at until it is over, and taken back where nobody waits any more. What else there is to do
is each era's own.

To look at it changes nothing, so that it is looked at again over another connection where one is lost; the call itself is never sent again.
The task's id is held by whoever waits for the call, and by nobody else.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    Request,
)

from mcp_server.errors import OutcomeUnknown, ToolFailure
from mcp_server.protocol.tasks_wire import TaskParams
from mcp_server.protocol.upstream.cleaning import in_line
from mcp_server.protocol.upstream.failing import LONGEST, by_transport, unknown, words_of
from mcp_server.protocol.upstream.link import Link
from mcp_server.protocol.upstream.progress import Progress
from mcp_server.protocol.upstream.rounds import LEFT
from mcp_server.protocol.upstream.task_wire import (
    LEAST_SECONDS,
    MOST_SECONDS,
    OVER,
    Anything,
    CancelTask,
    GetTask,
    Task,
    task_in,
)
from mcp_server.protocol.upstream.tasked import Followed
from mcp_server.protocol.upstream.underway import Underway
from mcp_server.tools.foreign import Order

FIRST_PAUSE, LAST_PAUSE = LEAST_SECONDS, 2.0
"""Seconds between two looks: twice as long each time, until they are what the server wishes, or where it has no wish the last. Servers wish
for five seconds where they know nothing of how long it takes; what is over at once would take as long.
"""

HOPELESS = frozenset({INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY})
"""What a server says to a look that is in vain. Anything else may pass: trouble of its own, or that it was asked too often."""

LOOK_SECONDS = 30.0
"""That one look may take."""

MOST_TRIES = 9
"""Of one look: with pauses twice as long each time, a server has half a minute to come back."""

TAKING_BACK_SECONDS = 3.0
"""That a server has to hear that a task is wanted no more. Whoever gave the call up waits no longer than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What a task is followed with."""

    link: Link
    """Over which the call was sent."""
    again: Callable[[], Awaitable[Link]]
    """Gives a connection to the same server for the same caller. Raises `OutcomeUnknown` where none ever will be, `ToolFailure` where none
    can be had now.
    """
    call: Underway
    progress: Progress
    order: Order
    token: str
    """What news of the call's progress is told under."""


class Following(ABC):
    """One task, for as long as somebody waits for the call that it is."""

    def __init__(self, lead: Lead, task_id: str) -> None:
        self._lead = lead
        self._server = lead.link.server
        self._params = TaskParams(task_id=task_id)
        self._one = Followed(task_id=task_id, call=lead.call, progress=lead.progress, token=lead.token)
        self._link = lead.link
        self._held = ExitStack()
        self._over = False
        """Nothing is left to take back."""
        self._pause = FIRST_PAUSE

    async def end(self, first: Task) -> CallToolResult:
        """What it comes to. See `followed`."""
        with self._held:
            self._held.enter_context(self._link.tasked.follow(self._one))
            try:
                return await self._watched(first)
            finally:
                if not self._over:
                    await self._take_back()

    async def _watched(self, first: Task) -> CallToolResult:
        wrong: Exception | None = None
        result: CallToolResult | None = None
        async with anyio.create_task_group() as group:
            try:
                result = await self._until_over(first, group)
            except (ToolFailure, MCPError, ValueError) as error:  # a group would wrap it
                wrong = error
            group.cancel_scope.cancel()
        if result is None:
            raise wrong or ValueError("the task was left before it was over")
        return result

    async def _until_over(self, first: Task, group: TaskGroup) -> CallToolResult:
        task = first
        while task.status not in OVER:
            await self._lead.progress.say(task.words or "")
            self._attend(task, group)
            await self._rest(task)
            if (result := self._early()) is not None:
                self._over = True
                return result
            task = await self._look()
        if task is first:
            task = await self._look()
        self._over = True
        if task.status == "cancelled":
            words = f": {in_line(task.words, LONGEST)}" if task.words else ""
            raise ToolFailure(f"`{self._server}` gave the call up{words}. {LEFT}")
        return await self._outcome(task)

    # ---- of each era ----------------------------------------------------------------------------

    @abstractmethod
    def _attend(self, task: Task, group: TaskGroup) -> None:
        """See to what it needs while it is not over."""

    @abstractmethod
    def _early(self) -> CallToolResult | None:
        """What it came to, where that is told before anybody looked."""

    @abstractmethod
    async def _outcome(self, task: Task) -> CallToolResult:
        """What it came to, now that it is over."""

    # ---- looking --------------------------------------------------------------------------------

    async def _rest(self, task: Task) -> None:
        """Until it is time to look again."""
        pause = min(self._pause, task.pause(LAST_PAUSE))
        self._pause = min(2 * self._pause, MOST_SECONDS)
        woken = self._one.woken
        with anyio.move_on_after(LEAST_SECONDS):
            await self._soon()
            return
        with anyio.move_on_after(pause - LEAST_SECONDS):
            await woken.wait()

    async def _soon(self) -> None:
        """What is worth looking at once for, however short the last look ago."""
        await anyio.sleep_forever()

    async def _look(self) -> Task:
        try:
            said = await self._asked(GetTask(params=self._params), LOOK_SECONDS, hopeless=HOPELESS)
        except MCPError as error:
            self._over = True
            raise unknown(
                self._server, f"it no longer knows the task that it made of the call ({in_line(error.message, LONGEST)})"
            ) from error
        return task_in(said, self._params.task_id)

    async def _asked(self, request: Request[Any, Any], seconds: float, hopeless: frozenset[int] | None = None) -> Mapping[str, Any]:
        """The answer to what changes nothing. It is asked for again where it is lost, as long as there is hope. `hopeless`: the
        errors of the server's that leave none; None: any.

        Raises:
            MCPError: By the server's own word there is none.
            OutcomeUnknown: There is no more hope.
        """
        pause, lost = FIRST_PAUSE, ""
        for _ in range(MOST_TRIES):
            try:
                return (await (await self._reached()).look(request, Anything, seconds)).said
            except MCPError as error:
                if not by_transport(error) and (hopeless is None or error.code in hopeless):
                    raise
                lost = words_of(error)
            except OutcomeUnknown as error:
                self._over = True
                raise unknown(self._server, str(error)) from error
            except ToolFailure as error:
                lost = str(error)
            await anyio.sleep(pause)
            pause *= 2
        raise unknown(self._server, f"it cannot be asked any more what became of the task that it made of the call ({lost})")

    async def _reached(self) -> Link:
        if self._link.usable:
            return self._link
        link = await self._lead.again()
        if link.era != self._lead.link.era:
            raise OutcomeUnknown("it speaks another version of the protocol now")
        self._link = link
        self._held.enter_context(link.counted())
        self._held.enter_context(link.attending.calls.joined(self._lead.call))
        self._held.enter_context(link.tasked.follow(self._one))
        return link

    def _failed(self, message: object) -> ToolFailure:
        return ToolFailure(f"`{self._server}` answered with an error: {in_line(str(message or 'it does not say which'), LONGEST)}")

    async def _take_back(self) -> None:
        with anyio.CancelScope(shield=True), suppress(MCPError, ToolFailure, ValueError):
            await self._link.look(CancelTask(params=self._params), Anything, TAKING_BACK_SECONDS)
