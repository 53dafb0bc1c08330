"""Lines of shell that go on while their session does other things. They live in this process's memory and end with their session,
with the server, or after some hours.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio.abc import TaskGroup

from mcp_server.errors import ToolFailure
from mcp_server.policy.verdicts import SessionId
from mcp_server.sandbox.backend import Backend
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.running import DRAIN_SECONDS, Running, running
from mcp_server.store.ids import mint
from mcp_server.tools.outputs import MAX_BYTES, Spool

MOST = 8
"""Of one session at once: a server, a watcher and some tests; more are forgotten ones."""

KEPT = 32
"""Lines of one session that are remembered once they have ended, so that their last output can still be read."""

LONGEST_SECONDS = 4 * 3600.0
"""A forgotten one ends by itself; half a working day is longer than any build."""

UNKNOWN = "there is no such line in the background of this session: it never was, or it ended with the server that ran it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run, as it was judged."""

    session_id: SessionId
    backend: Backend
    profile: Profile
    argv: Sequence[str]
    cwd: str
    spool: Spool


@dataclass(slots=True, kw_only=True)
class Line:
    """One line in the background."""

    id: str
    order: Order
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    news: bytearray = field(default_factory=bytearray)
    """Output that nobody has read yet; the oldest is dropped where it grows too long, the whole lies in the spool's file."""
    dropped: int = 0
    code: int | None = None
    """The exit code; None: it runs, or was ended."""
    over: anyio.Event = field(default_factory=anyio.Event)
    stirred: anyio.Event = field(default_factory=anyio.Event)
    """Set at the next output, or at the end."""

    def take(self, data: bytes) -> None:
        """More output."""
        self.order.spool.add(data)
        self.news += data
        if len(self.news) > MAX_BYTES:
            self.dropped += len(self.news) - MAX_BYTES
            del self.news[:-MAX_BYTES]
        self._stir()

    def end(self) -> None:
        """It is over."""
        self.order.spool.close()
        self.over.set()
        self._stir()

    def read(self) -> str:
        """What nobody has read yet; it counts as read from now on."""
        text = self.news.decode(errors="replace")
        note = f"… {self.dropped:,} bytes were left out here …\n" if self.dropped else ""
        self.news.clear()
        self.dropped = 0
        return note + text

    def _stir(self) -> None:
        self.stirred.set()
        self.stirred = anyio.Event()


class Background:
    """All of a server's, each reachable by its own session alone."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Lines can be started inside; leaving ends them all."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                group.cancel_scope.cancel()

    @property
    def owners(self) -> frozenset[SessionId]:
        """Sessions that have any here."""
        return frozenset(line.order.session_id for line in self._lines.values())

    async def start(self, order: Order) -> Line:
        """Start it. It runs when this returns.

        Raises:
            ToolFailure: There are too many, or the sandbox cannot be set up.
            OSError: It cannot be run.
        """
        mine = [line for line in self._lines.values() if line.order.session_id == order.session_id]
        if sum(not line.over.is_set() for line in mine) >= MOST:
            raise ToolFailure(f"{MOST} lines run in the background already; end one with bash_kill")
        if self._group is None:
            raise ToolFailure("nothing can be started in the background: the server is ending")
        for line in [line for line in mine if line.over.is_set()][: max(0, len(mine) - KEPT + 1)]:
            del self._lines[line.id]
        line = Line(id=mint("bsh"), order=order)
        # Known before it runs: the end of its session, or of the call, must find it.
        self._lines[line.id] = line
        ready = anyio.Event()
        problem: list[ToolFailure | OSError] = []
        self._group.start_soon(partial(self._live, line, ready, problem))
        await ready.wait()
        if problem:
            self._lines.pop(line.id, None)
            raise problem[0]
        return line

    async def _live(self, line: Line, ready: anyio.Event, problem: list[ToolFailure | OSError]) -> None:
        try:
            with line.scope:
                async with running(line.order.backend, line.order.profile, line.order.argv, cwd=line.order.cwd) as one:
                    ready.set()
                    with anyio.move_on_after(LONGEST_SECONDS):
                        line.code = await _to_the_end(one, line)
        except (ToolFailure, OSError) as error:
            problem.append(error)
        finally:
            ready.set()
            line.end()

    def line(self, session_id: SessionId, line_id: str) -> Line:
        """One of the session's own.

        Raises:
            ToolFailure: There is none of that id.
        """
        line = self._lines.get(line_id)
        if line is None or line.order.session_id != session_id:
            raise ToolFailure(UNKNOWN)
        return line

    def of(self, session_id: SessionId) -> tuple[Line, ...]:
        """The session's, oldest first."""
        return tuple(line for line in self._lines.values() if line.order.session_id == session_id)

    def end(self, session_id: SessionId) -> None:
        """The session is over, and so are its lines. Does not wait for them."""
        for line in self.of(session_id):
            line.scope.cancel()
            del self._lines[line.id]


async def _to_the_end(one: Running, line: Line) -> int | None:
    code: int | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(one.drain, line.take)
        code = await one.wait()
        await one.end()
        with anyio.move_on_after(DRAIN_SECONDS):
            await one.drained()
        group.cancel_scope.cancel()
        one.sweep(line.take)
    return code
