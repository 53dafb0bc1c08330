"""Connections, as far as they matter here: each has a root session of its own and room for one form on the wire.

Requests from 2026-07-28 on over HTTP have none: they share their caller's one root and are never sent a form.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.errors import ToolFailure
from mcp_server.protocol.timing import Timing
from mcp_server.records import SessionRecord
from mcp_server.sessions.front import Caller, Front
from mcp_server.tools.hearing import Level

log = structlog.get_logger("protocol")

_STATE_KEY = "remit.line"


class OtherAddress(ToolFailure):
    """A connection is used at an address at which it was not made."""

    def __init__(self) -> None:
        super().__init__("this connection was made at another address of the gateway; connect to this one anew")


class Line:
    """One connection."""

    def __init__(self, front: Front, timing: Timing) -> None:
        self.wire = anyio.Lock()
        """Held while a form of this connection is before a person."""
        self.closed = False
        """Has the connection ended?"""
        self.log_level: Level = "info"
        """From which one up it wants log messages, up to 2025-11-25."""
        self.on_close: list[Callable[[], None]] = []
        """What is to be done once it has ended."""
        self._front = front
        self._timing = timing
        self._opening = anyio.Lock(fast_acquire=True)
        self._root: SessionRecord | None = None
        self._caller: Caller | None = None

    async def root(self, caller: Caller) -> SessionRecord:
        """The connection's root session, opened at the first call, and anew where somebody has ended it.

        Raises:
            OtherAddress: The connection was made at another address, for another workspace or agent.
        """
        async with self._opening:
            if self._caller not in (None, caller):
                raise OtherAddress
            self._caller, root = caller, self._root
            if root is None or await self._front.ended(root.id):
                with anyio.fail_after(self._timing.begin, shield=True):
                    self._root = root = await self._front.open_root(caller, shared=False)
            return root

    async def close(self) -> None:
        """The connection has ended."""
        self.closed = True
        for done in self.on_close:
            done()
        root, self._root = self._root, None
        if root is None:
            return
        with anyio.move_on_after(self._timing.leave, shield=True) as scope:
            await self._front.leave_root(root.id)
        if scope.cancelled_caught:
            log.warning("leaving a root took too long", root=root.id)


Lifespan = Callable[[Server[Line]], AbstractAsyncContextManager[Line]]


def lifespan_of(front: Front, timing: Timing) -> Lifespan:
    """What the SDK enters once a connection for stdio and in memory (then the line is the connection's), and once a
    process for HTTP (then nobody uses it).
    """

    @asynccontextmanager
    async def lifespan(_: Server[Line]) -> AsyncGenerator[Line]:
        line = Line(front, timing)
        try:
            yield line
        finally:
            await line.close()

    return lifespan


def line_of(ctx: ServerRequestContext[Line, Any], front: Front, timing: Timing) -> Line | None:
    """The connection of a request; None where it has none of its own."""
    if ctx.request is None:
        return ctx.lifespan_context
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return None
    # The SDK hands handlers a session a request; the connection's own state and end are reached no other way in 2.3.
    connection = ctx.session._connection  # pyright: ignore[reportPrivateUsage] - as said above
    line = connection.state.get(_STATE_KEY)
    if not isinstance(line, Line):
        line = Line(front, timing)
        connection.state[_STATE_KEY] = line
        connection.exit_stack.push_async_callback(line.close)
    return line
