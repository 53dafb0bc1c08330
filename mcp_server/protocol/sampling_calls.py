"""Asking a client's own model up to 2025-11-25: the server calls the client in the middle of the request, once for each open turn.

Beside forms, not in their queue: a person who thinks a form over holds up nobody else's model. A turn that is with the client keeps the
request open until it has answered, but no new one is put once the request's patience is over.
"""

import anyio
from anyio.abc import TaskGroup
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, CreateMessageResultWithTools, RequestId
from pydantic import ValidationError

from mcp_server.errors import RemitError
from mcp_server.protocol.asking import Visit
from mcp_server.protocol.sampling import request_of, said_by
from mcp_server.sessions.front import Ended
from mcp_server.sessions.models.asks import ModelAsk, NotSaid, Said

_NOT_AN_ANSWER = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})
"""Errors that say nothing of the client's will: the turn stays open."""

_REJECTED = -1
"""What the specification has a client answer with when its person says no."""

_LOOK = 0.2
"""Seconds between two looks for turns that are wanted no more, once a call has ended that carries them."""

_LONGEST_REASON = 300
"""Characters kept of a client's own words."""


class ModelCalls:
    """The turns that one request has put to its client."""

    def __init__(self, visit: Visit, *, session: ServerSession, request_id: RequestId | None) -> None:
        self._visit = visit
        self._session = session
        self._request_id = request_id
        self._flying: dict[str, anyio.CancelScope] = {}
        self._landed = anyio.Event()
        self._looked = anyio.Event()
        self._until = anyio.current_time() + visit.timing.patience

    async def run(self) -> None:
        """Put every turn that opens, and take back those that are wanted no more, until the call has ended. Cancel it to leave earlier."""
        try:
            async with anyio.create_task_group() as group:
                await self._follow(group)
                self._looked.set()
                await self._watch_the_rest()
        finally:
            self._looked.set()

    async def _follow(self, group: TaskGroup) -> None:
        visit, seen = self._visit, frozenset[str]()
        while True:
            try:
                settled = await visit.front.settle(visit.root, visit.call_id, seconds=visit.timing.form_life, shown=tuple(seen))
            except RemitError:  # whoever stays with the call meets it too, and tells it
                return
            self._take_back()
            if isinstance(settled, Ended) or settled.parting:
                return
            await self._put(settled.turns, group)
            self._looked.set()
            seen = settled.ids

    async def _watch_the_rest(self) -> None:
        """The call has ended and tells nothing any more, while the run that it started may still have its turn with the client."""
        while self._flying:
            with anyio.move_on_after(_LOOK):
                await self._landed.wait()
            self._take_back()

    def _take_back(self) -> None:
        for ask_id, scope in self._flying.items():
            if not self._visit.front.turn_wanted(ask_id):
                scope.cancel()

    async def landed(self) -> None:
        """Wait for those that are with the client, and put no more: to leave now would take them from it half-way."""
        await self._looked.wait()
        self._until = 0.0
        while self._flying:
            await self._landed.wait()

    async def _put(self, asks: tuple[ModelAsk, ...], group: TaskGroup) -> None:
        for ask in asks:
            if ask.id in self._flying or (self._looked.is_set() and anyio.current_time() >= self._until):
                continue
            if await self._visit.front.put_turn(self._visit.call_id, ask.id):
                self._flying[ask.id] = anyio.CancelScope()
                group.start_soon(self._carry, ask, self._flying[ask.id])

    async def _carry(self, ask: ModelAsk, scope: anyio.CancelScope) -> None:
        front, call_id = self._visit.front, self._visit.call_id
        try:
            with scope:
                said = await self._said(ask)
                if said is not None:
                    front.turn_said(call_id, ask.id, said)
        finally:
            front.turn_back(call_id, ask.id)
            del self._flying[ask.id]
            self._landed.set()
            self._landed = anyio.Event()

    async def _said(self, ask: ModelAsk) -> Said | NotSaid | None:
        """None: nothing was said, and the turn stays open."""
        seconds = self._visit.timing.prompt_life
        with anyio.move_on_after(seconds):
            try:
                meant = ServerMessageMetadata(related_request_id=self._request_id)
                return said_by(await self._session.send_request(request_of(ask), CreateMessageResultWithTools, metadata=meant))
            except MCPError as error:
                if error.code in _NOT_AN_ANSWER:
                    return None
                words = " ".join(error.message.split())[:_LONGEST_REASON]
                return NotSaid(reason=f"the client did not ask its model: {words}", withheld=error.code == _REJECTED)
            except ValidationError:
                return NotSaid(reason="the client's answer is not one that a model's turn can have")
        return NotSaid(reason=f"the client gave no answer for its model within {seconds:g} s")
