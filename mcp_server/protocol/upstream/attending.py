"""Whose questions a server's are, and who is asked what it asks while calls are under way.

From 2026-07-28 on a question is the call's own result, or its task's, and there is no doubt. Up to 2025-11-25 it comes as a request of the
connection: it is that call's whose task it names, else as `underway` has it; where it is nobody's it is put before nobody.
"""

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import anyio
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    INVALID_REQUEST,
    URL_ELICITATION_REQUIRED,
    ElicitRequest,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
)
from pydantic import ValidationError

from mcp_server.elicited import Replied
from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream.elicitations import NotPut, asked_in
from mcp_server.protocol.upstream.rounds import MOST_AT_ONCE, Send, completed
from mcp_server.protocol.upstream.underway import Calls, Underway

T = TypeVar("T")

MOST_A_CALL = 20
"""Questions of one call. A wizard has a handful of steps; a person who is asked more is being worn down."""

MOST_OPEN = 8
"""Questions of one connection at once."""

MOST_AN_HOUR = 100
"""Questions of one connection."""

HOUR = 3600.0

CANCEL = ElicitResult(action="cancel")


class Attending:
    """Of one connection."""

    def __init__(
        self, server: str, *, finish: Callable[[str], None] | None = None, steady: Callable[[], float] = anyio.current_time
    ) -> None:
        """`finish`: told of the links that are done with, by what they are known by here. None: nobody is."""
        self._server = server
        self._finish = finish
        self._steady = steady
        self._links: dict[str, str] = {}
        """What the links that it wanted opened are known by here, by its own ids; oldest first."""
        self.calls = Calls()
        self._times: deque[float] = deque(maxlen=MOST_AN_HOUR)

    async def heard(
        self, context: ClientRequestContext, params: ElicitRequestParams, named: Underway | None = None
    ) -> ElicitResult | ErrorData:
        """Up to 2025-11-25: the connection asks. `named`: the call whose task it says that it is about."""
        calls, mine = self.calls.every, self.calls.of_one
        if named is not None and named in calls:
            return await self._put(named, params, (named,))
        if not calls:
            return ErrorData(code=INVALID_REQUEST, message="a person is asked only while a call of theirs is under way")
        if not mine:
            for call in calls:
                call.ask.refuse("calls of several people are under way there, and nobody can tell whose question it is")
            return CANCEL
        return await self._put(mine[0], params, mine)

    async def through(self, call: Underway, send: Send[T]) -> T:
        """The call's result, with what it asks answered on the way. See `completed`."""
        return await completed(self._server, send, partial(self.answer, call))

    async def answer(self, call: Underway, request: ElicitRequest) -> ElicitResult:
        """From 2026-07-28 on: the call itself asks."""
        return await self._put(call, request.params, (call,))

    async def links(self, call: Underway, error: MCPError) -> ToolFailure | None:
        """Up to 2025-11-25 a call may be refused until the person has opened links. They are asked to; whether to call again is for whoever
        called. None: it is another error.
        """
        if error.code != URL_ELICITATION_REQUIRED:
            return None
        try:
            wanted = UrlElicitationRequiredError.from_error(error.error).elicitations
        except (ValidationError, TypeError, AttributeError):
            return None
        replies = [await self._put(call, params, (call,)) for params in wanted[:MOST_AT_ONCE]]
        agreed = all(reply.action == "accept" for reply in replies) and 0 < len(wanted) <= MOST_AT_ONCE
        then = "They agreed to: once they are done there, make the same call again." if agreed else "They have not."
        return ToolFailure(f"the call was not done: `{self._server}` first wants the person to open a link. {then}")

    async def _put(self, call: Underway, params: ElicitRequestParams, still: Sequence[Underway]) -> ElicitResult:
        """Before the person whose call it is. `still`: the calls for which no time passes meanwhile."""
        try:
            asked = asked_in(params, self._ref(params))
            self._count(call)
        except NotPut as refused:
            call.ask.refuse(str(refused))
            return CANCEL
        for one in still:
            one.hold()
        scope = anyio.CancelScope()
        call.open.add(scope)
        reply: Replied | None = None
        try:
            with scope:
                reply = await call.ask(asked)
        finally:
            call.open.discard(scope)
            for one in still:
                one.go_on()
        if reply is None:
            return CANCEL
        return ElicitResult(action=reply.action, content=None if reply.content is None else dict(reply.content))

    def _ref(self, params: ElicitRequestParams) -> str:
        """Up to 2025-11-25 a server gives a link an id, and says by it when it is done with. Another server may have the same."""
        if not isinstance(params, ElicitRequestURLParams) or not params.elicitation_id:
            return ""
        ref = self._links[params.elicitation_id] = f"link_{secrets.token_hex(16)}"
        while len(self._links) > MOST_AN_HOUR:
            del self._links[next(iter(self._links))]
        return ref

    def completed(self, own: str) -> None:
        """It says that a link is done with. `own`: its id of it."""
        ref = self._links.pop(own, None)
        if ref is not None and self._finish is not None:
            self._finish(ref)

    def _count(self, call: Underway) -> None:
        now = self._steady()
        call.asked += 1
        if call.asked > MOST_A_CALL:
            raise NotPut(f"it asked more than {MOST_A_CALL} times in one call")
        if sum(len(each.open) for each in self.calls.every) >= MOST_OPEN:
            raise NotPut(f"{MOST_OPEN} questions of this server wait for an answer already")
        if len(self._times) == MOST_AN_HOUR and now - self._times[0] < HOUR:
            raise NotPut(f"it asked {MOST_AN_HOUR} times within an hour")
        self._times.append(now)
