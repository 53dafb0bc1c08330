"""How a request comes to its call: the root session that it speaks for, and a hold on the call itself, begun or found again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext

from mcp_server.protocol.asking import Visit
from mcp_server.protocol.asking_rounds import RoundState
from mcp_server.protocol.lines import Line, line_of
from mcp_server.protocol.showing import Showing
from mcp_server.protocol.timing import Timing
from mcp_server.records import SessionRecord
from mcp_server.sessions.front import Caller, Front

Request = ServerRequestContext[Line, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """One server's way."""

    front: Front
    timing: Timing
    showing: Showing
    clock: Callable[[], float]
    """Seconds since the epoch."""

    async def root(self, ctx: Request, caller: Caller) -> tuple[SessionRecord, Line | None]:
        """The session of the request's connection, or the one that callers without connections share."""
        line = line_of(ctx, self.front, self.timing)
        return await (self._shared(caller) if line is None else line.root(caller)), line

    async def visit(self, caller: Caller, root: SessionRecord, tool: str, arguments: Mapping[str, Any], back: RoundState | None) -> Visit:
        """A hold on the call. `back`: what a retry brings of it; None: it begins now."""
        # A call that was begun must be known here, or nobody detaches from it: to begin one is no point of cancellation, to find one is.
        if back is None:
            call_id = await self.front.begin(root, tool, arguments)
        else:
            with anyio.fail_after(self.timing.begin, shield=True):
                call_id = await self.front.rejoin(root, back.call)
        return Visit(
            front=self.front,
            principal=caller.principal,
            root=root,
            call_id=call_id,
            timing=self.timing,
            showing=self.showing,
            clock=self.clock,
        )

    async def _shared(self, caller: Caller) -> SessionRecord:
        with anyio.fail_after(self.timing.begin, shield=True):
            return await self.front.open_root(caller, shared=True)
