"""One connection to one other server: made, used, and ended, by whoever comes first to want its end."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
import structlog
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitCompleteNotification,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    Implementation,
    InputRequiredResult,
    InputResponses,
    PaginatedRequestParams,
    ProgressNotification,
    ResourceUpdatedNotification,
    Result,
    Tool,
)
from mcp_types import Request as AnyRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream.attending import Attending, Underway
from mcp_server.protocol.upstream.changing import KINDS, Kind, kinds_of, told_by
from mcp_server.protocol.upstream.expanding import NotSet
from mcp_server.protocol.upstream.failing import by_transport, closed, failure_of, innermost, refused, unknown, unusable, words_of
from mcp_server.protocol.upstream.logs import Logs
from mcp_server.protocol.upstream.naming import Definition, definitions
from mcp_server.protocol.upstream.shelf import Listed, Shelving
from mcp_server.protocol.upstream.tasked import Tasked
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.hearing import DEAF, Hearer
from mcp_server.tools.whose import Asking, Whose

log = structlog.get_logger("upstream")

MOST_PAGES = 50
MOST_TOOLS = 500
"""Of one server: more than any has, and as many as a model's attention can bear several times over."""

LISTEN_SECONDS = 5.0
"""Before changes are listened for again, where that was cut short."""

MOST_LISTENS = 100
"""Times that it is tried on one connection. A server that always cuts it short is listed anew before each call meanwhile."""

TELLING_SECONDS = 1.0
"""How long the reason of a lost connection is waited for, once a call has found it lost."""

Transport = AbstractAsyncContextManager[Any]

T = TypeVar("T")
R = TypeVar("R", bound=Result)

Request = Callable[[Client, Underway, InputResponses | None, str | None], Awaitable[T | InputRequiredResult]]
"""One request of a call under way, with the answers and the state that the protocol has it carry when it is sent again for them."""


@dataclass(slots=True)
class Ends:
    """What a transport tells of its end."""

    over: anyio.Event = field(default_factory=anyio.Event)
    why: str = ""
    complaint: Callable[[], str] = str
    """What it complained of last, where it has a way to; empty: of nothing."""
    statuses: list[int] = field(default_factory=list[int])
    """What HTTP answered, newest last; only as many as matter."""

    def end(self, why: str) -> None:
        """It says nothing more."""
        self.why = self.why or why
        self.over.set()

    def status(self, code: int) -> None:
        """HTTP answered."""
        self.statuses.append(code)
        del self.statuses[:-8]


Open = Callable[[Ends], "Transport | Server[Any]"]
"""Makes the way to a server. Nothing is started before it is entered."""


class Link:
    """One connection."""

    calls = 0
    """Under way now."""
    left = False
    """Nobody will come back to it."""
    left_out: tuple[str, ...] = ()
    """Tools of it that cannot be offered, a line each."""
    stale = False
    """It said that its tools have changed."""
    era = ""
    failure = ""
    """Why it could not be made, or was lost; empty: it was not."""
    on_update: Callable[[str], None] | None = None
    """Told which single resource it says has changed. None: nobody watches any."""
    unset = False
    """It could not be made because something is not there that somebody must put there first."""

    def __init__(
        self,
        server: str,
        config: Upstream,
        opened: Open,
        *,
        version: str,
        born: float,
        workspace: str,
        on_ready: "Callable[[Link], None]",
        on_change: Callable[[Kind], None],
        on_finish: Callable[[str], None],
    ) -> None:
        self.server = server
        self.config = config
        self.born = born
        """By the steady clock."""
        self.workspace = workspace
        """In which it was started."""
        self.used = born
        """When a call last began or ended."""
        self.tools: Mapping[str, Definition] = {}
        """By their own names, as it said last."""
        self.shelving = Shelving(server)
        self.ready = anyio.Event()
        """It is made, or will not be."""
        self.over = anyio.Event()
        """It is gone, with whatever was started for it."""
        self._opened = opened
        self._version = version
        self._on_ready = on_ready
        self._on_change = on_change
        self._ends = Ends()
        self._scope = anyio.CancelScope()
        self._listing = anyio.Lock(fast_acquire=True)
        self.attending = Attending(server, finish=on_finish)
        self.logs = Logs(server, self.attending.calls, anyio.current_time)
        self.tasked = Tasked()
        self._client: Client | None = None

    @property
    def usable(self) -> bool:
        """It can take a call now."""
        return self._client is not None and not self._ends.over.is_set() and not self._scope.cancel_called

    @property
    def client(self) -> Client | None:
        """What speaks to it. None: it is not connected now."""
        return self._client if self.usable else None

    def end(self) -> None:
        """End it. Does not wait; see `over`."""
        self._scope.cancel()

    # ---- life -----------------------------------------------------------------------------------

    async def live(self) -> None:
        """From the start to the end. Never raises for what the server does."""
        try:
            with self._scope:
                await self._live()
        except Exception as error:  # whatever a server does must not end this one
            self._failed(self._ends.why or words_of(error))
            self.unset = isinstance(innermost(error), NotSet)
            if not isinstance(error, BaseExceptionGroup | ToolFailure | MCPError | OSError):
                log.exception("a connection failed in a way nobody expected", server=self.server)
        finally:
            self._client = None
            self._ends.end("")
            self.ready.set()
            self.over.set()

    async def _live(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._bounded, group.cancel_scope)
            way = self._opened(self._ends)
            info = Implementation(name="remit", version=self._version)
            asked, told = self._asked, self.logs.heard
            async with Client(
                way,
                mode="auto",
                message_handler=self._heard,
                logging_callback=told,
                elicitation_callback=asked,
                client_info=info,
                cache=None,
                extensions=[self.tasked.extension],
            ) as client:
                self.era = client.protocol_version
                # A schema of the server's own, with its patterns, could hold up everybody for as long as it likes.
                client.session.validate_tool_result = _unchecked
                self._client = client
                await self._list(client)
                self._on_ready(self)
                self._say(KINDS)  # it may not offer what was kept of it from before
                self.ready.set()
                group.start_soon(self._listening, client)
                await self._ends.over.wait()
                self._failed(self._ends.why or "it ended by itself")
            group.cancel_scope.cancel()

    async def _bounded(self, scope: anyio.CancelScope) -> None:
        with anyio.move_on_after(self.config.handshake_seconds):
            await self.ready.wait()
        if not self.ready.is_set():
            why = f"it did not start and list its tools within {self.config.handshake_seconds:g} s (`handshake_seconds`)"
            last = self._ends.complaint()
            self._failed(f"{why}; its last words: {last}" if last else why)
            scope.cancel()

    def _failed(self, why: str) -> None:
        self.failure = self.failure or why

    async def _listening(self, client: Client) -> None:
        """From 2026-07-28 on a server tells of changes only whoever asks for it."""
        wanted = told_by(client.server_capabilities)
        if self.era not in MODERN_PROTOCOL_VERSIONS or not wanted:
            return
        for _ in range(MOST_LISTENS):
            try:
                tools, prompts, resources = (kind in wanted for kind in KINDS)
                listening = client.listen(tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources)
                async with listening as changes:
                    async for event in changes:
                        self._changed(kinds_of(event))
            except (MCPError, SubscriptionLost, TimeoutError, ListenNotSupportedError):
                await anyio.sleep(LISTEN_SECONDS)
            self._changed(KINDS)  # nobody knows what was missed
            await anyio.sleep(LISTEN_SECONDS)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ProgressNotification):
            await self.tasked.progressed(message.params)
        if isinstance(message, ElicitCompleteNotification):
            self.attending.completed(message.params.elicitation_id)
        if isinstance(message, ResourceUpdatedNotification) and self.on_update is not None:
            self.on_update(message.params.uri)
        self._changed(kinds_of(message))

    async def _asked(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        return await self.attending.heard(context, params, self.tasked.call_of(context.meta))

    def _changed(self, kinds: Sequence[Kind]) -> None:
        for kind in kinds:
            if kind == "tools":
                self.stale = True
            else:
                self.shelving.missed()
        self._say(kinds)

    def _say(self, kinds: Sequence[Kind]) -> None:
        for kind in kinds:
            self._on_change(kind)

    # ---- its tools ------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Have the tools as they are now, where it said that they have changed.

        Raises:
            ToolFailure: They cannot be had.
        """
        if not self.stale and not self._listing.locked():
            return
        async with self._listing:
            client = self._client
            if not self.stale or client is None:
                return
            try:
                with anyio.fail_after(self.config.handshake_seconds):
                    await self._list(client)
            except Exception as error:  # whatever a server answers must not end whoever asked
                self.stale = True
                raise ToolFailure(f"`{self.server}` changed its tools and does not list them: {words_of(error)}") from error

    async def _list(self, client: Client) -> None:
        self.stale = False
        if client.server_capabilities.tools is None:
            return
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None or len(tools) >= MOST_TOOLS:
                break
        more = len(tools) > MOST_TOOLS or cursor is not None
        self.tools, left = definitions(self.server, tools[:MOST_TOOLS])
        self.left_out = (*left, *((f"it lists more than {MOST_TOOLS} tools; the rest is left out",) if more else ()))

    # ---- what else it offers --------------------------------------------------------------------

    async def shelf(self) -> Listed:
        """Its resources and prompts, as they are now.

        Raises:
            ToolFailure: They cannot be had.
        """
        client = self._client
        if client is None or not self.usable:
            raise ToolFailure(f"`{self.server}` cannot be reached: {self.failure or 'the connection has just ended'}")
        return await self.shelving.current(client, self.config.handshake_seconds)

    # ---- calls ----------------------------------------------------------------------------------

    async def request(self, whose: Whose, ask: Asking, send: Request[T], *, hearer: Hearer = DEAF, reading: bool = False) -> T:
        """Have one request answered, with whatever its server asks of the person, and says to `hearer`, meanwhile. `reading`: it changes
        nothing, so that nobody need ask what became of it. Whatever goes wrong, it is not sent again.

        Raises:
            ToolFailure: It was not done, or came to an error by the server's word.
            OutcomeUnknown: Nobody can say.
        """
        client = self._client
        if client is None or not self.usable:
            raise ToolFailure(f"`{self.server}` cannot be reached: {self.failure or 'the connection has just ended'}; call again")
        alone = self.calls == 0
        self._ends.statuses.clear()
        seconds = self.config.call_seconds
        try:
            with self.counted(), self.attending.calls.begun(whose, ask, seconds, hearer) as call:
                return await self._answered(call, send, client, alone=alone, reading=reading)
            why = f"it did not answer within {seconds:g} s"
            raise ToolFailure(f"`{self.server}`: {why}") if reading else unknown(self.server, why)
        except (RuntimeError, ValueError) as error:
            why = unusable(error)
            raise (ToolFailure(f"`{self.server}`: {why}") if reading else unknown(self.server, why)) from error

    @contextmanager
    def counted(self) -> Generator[None]:
        """A call is under way inside, so that it is not ended for want of use."""
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1

    async def look(self, request: AnyRequest[Any, Any], kind: type[R], seconds: float | None) -> R:
        """The answer to a request about a call under way. Lost, it may be sent again.

        Raises:
            MCPError: It has none. See `by_transport`.
            ToolFailure: The connection is no more.
        """
        client = self._client
        if client is None or not self.usable:
            raise ToolFailure(f"the connection has ended: {self.failure or self._ends.why or 'nobody says why'}")
        try:
            return await client.session.send_request(request, kind, seconds)
        except MCPError as error:
            if by_transport(error) and self._ends.statuses[-1:] == [404]:
                self.end()
            raise

    async def _answered(self, call: Underway, send: Request[T], client: Client, *, alone: bool, reading: bool) -> T:
        try:
            return await self.attending.through(call, partial(send, client, call))
        except MCPError as error:
            links = await self.attending.links(call, error)
            if reading and links is None:
                raise refused(self.server, error, self.failure or self._ends.why) from error
            raise links or await self._came_to_nothing(error, alone=alone and self.calls == 1) from error

    async def _came_to_nothing(self, error: MCPError, *, alone: bool) -> ToolFailure:
        if closed(error):
            with anyio.move_on_after(TELLING_SECONDS):
                await self.over.wait()
        if 404 in self._ends.statuses:
            self.end()
        statuses = tuple(self._ends.statuses) if alone else ()
        return failure_of(self.server, error, statuses, self.failure or self._ends.why, self.config.call_seconds)


async def _unchecked(name: str, result: CallToolResult) -> None:
    """What a server promised of its results binds nobody here."""
