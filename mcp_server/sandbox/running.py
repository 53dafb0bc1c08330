"""Run one program in a sandbox and leave nothing of it behind: not after its end, a time-out, or a cancelled call.

`running` for one that goes on in the background, `run` for one that is waited for.
"""

import os
import secrets
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from anyio import CancelScope, to_thread

from mcp_server.sandbox.backend import Backend, Job, Started
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.tree import Seen, Tree, known_here, mark_of, send

MARK = "REMIT_CALL"
"""The variable that marks the processes of one command."""

GRACE_SECONDS = 0.2
"""Between the polite signal and the other: time to remove a lock file, well below the second that a cancel may take."""

END_SECONDS = 5
"""How long the ending itself may take before what is left is reported."""

DRAIN_SECONDS = 0.5
"""How long the rest of the output is waited for, once after the program's end and once after that of all it left running:
somebody may hold the pipe for ever."""

BEAT_SECONDS = 5
"""Between two signs of life to the caller."""

POLL_SECONDS = 0.02
"""Between two looks whether a program has ended, where the system cannot say so by itself (macOS, not run here)."""

CHUNK = 64 * 1024

MOST_LEFT = 32
"""Chunks that are read at the very end. A pipe holds one by default and sixteen at most; more comes from somebody who cannot be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How it ended."""

    code: int | None
    """The exit code, minus the signal's number for one that a signal ended; None: timed out."""
    ended: int
    """Processes that were still running when it was over, and were ended."""
    escaped: int
    """Those that could not be ended."""


class Running:
    """A program that runs, and all that it started."""

    def __init__(self, started: Started, tree: Tree, reading: int) -> None:
        self._started = started
        self._tree = tree
        self._reading = reading
        self._drained = anyio.Event()
        self.ended: tuple[int, int] | None = None
        """Processes that were ended when it was over, and those that could not be; None: it is not over."""

    @property
    def code(self) -> int | None:
        """The exit code; None: it runs."""
        return self._started.process.poll()

    async def wait(self) -> int:
        """Until the program itself has ended. What it left running may go on. Returns its exit code."""
        process = self._started.process
        if hasattr(os, "pidfd_open") and process.poll() is None:
            handle = os.pidfd_open(process.pid)
            try:
                await anyio.wait_readable(handle)
            finally:
                os.close(handle)
        while process.poll() is None:  # noqa: ASYNC110 - where there is no handle, nobody says when it ends
            await anyio.sleep(POLL_SECONDS)
        return process.wait()

    async def drained(self) -> None:
        """Until nobody can write output any more."""
        await self._drained.wait()

    async def drain(self, take: Callable[[bytes], None]) -> None:
        """Hand over the output as it comes, until nobody can write any more."""
        while True:
            await anyio.wait_readable(self._reading)
            with suppress(BlockingIOError):
                data = os.read(self._reading, CHUNK)
                if not data:
                    self._drained.set()
                    return
                take(data)

    def sweep(self, take: Callable[[bytes], None]) -> None:
        """Hand over what lies in the pipe by now: a loop that was held up has not come to it, however long it was to wait."""
        for _ in range(MOST_LEFT):
            try:
                data = os.read(self._reading, CHUNK)
            except BlockingIOError:
                return
            if not data:
                return
            take(data)

    async def end(self) -> tuple[int, int]:
        """End whatever still runs. Returns how many did, and how many could not be ended. May be called twice."""
        ended = self.ended
        if ended is None:
            with CancelScope(shield=True):
                self.ended = ended = await self._end()
        return ended or (0, 0)

    async def _end(self) -> tuple[int, int]:
        if self._started.last is not None:
            return await _end_whole(self._started, self._started.last, self._tree, self.wait)
        if known_here():
            return await _end_all(self._started, self._tree, self.wait)
        return await _end_group(self._started, self.wait)


@asynccontextmanager
async def running(backend: Backend, profile: Profile, argv: Sequence[str], *, cwd: str) -> AsyncGenerator[Running]:
    """Start it; leaving the block ends it with all that it started.

    Raises:
        NotStarted: The sandbox cannot be set up. Nothing was run.
        OSError: The program cannot be run.
    """
    mark = mark_of(secrets.token_hex(16))
    reading, writing = os.pipe()
    pipe = f"pipe:[{os.fstat(writing).st_ino}]"
    try:
        os.set_blocking(reading, False)
        try:
            started = backend.start(profile, Job(argv=argv, cwd=cwd, output=writing, mark=(MARK, mark)))
        finally:
            os.close(writing)
        one = Running(started, Tree(started.process.pid, f"{MARK}={mark}".encode(), pipe, started.own), reading)
        try:
            yield one
        finally:
            try:
                await one.end()
            finally:
                started.release()
    finally:
        os.close(reading)


async def run(
    backend: Backend,
    profile: Profile,
    argv: Sequence[str],
    *,
    cwd: str,
    seconds: float,
    take: Callable[[bytes], None],
    beat: Callable[[float], Awaitable[None]],
) -> Finished:
    """Run it to its end, or for `seconds`; its output, both streams in their order, goes to `take`.

    Raises:
        NotStarted: The sandbox cannot be set up. Nothing was run.
        OSError: The program cannot be run.
    """
    timed_out, ended, escaped, code = True, 0, 0, None
    async with running(backend, profile, argv, cwd=cwd) as one, anyio.create_task_group() as group:
        group.start_soon(one.drain, take)
        group.start_soon(_beating, beat)
        try:
            with anyio.move_on_after(seconds):
                code = await one.wait()
            timed_out = code is None
            if not timed_out:
                with anyio.move_on_after(DRAIN_SECONDS):
                    await one.drained()
        finally:
            ended, escaped = await one.end()
        with anyio.move_on_after(DRAIN_SECONDS):
            await one.drained()
        group.cancel_scope.cancel()
        one.sweep(take)
    return Finished(code=None if timed_out else code, ended=ended, escaped=escaped)


async def _beating(beat: Callable[[float], Awaitable[None]]) -> None:
    started = anyio.current_time()
    while True:
        await anyio.sleep(BEAT_SECONDS)
        await beat(anyio.current_time() - started)


async def _end_all(started: Started, tree: Tree, wait: Callable[[], Awaitable[int]]) -> tuple[int, int]:
    first = await to_thread.run_sync(tree.alive)
    left = first
    send(left, signal.SIGTERM)
    with anyio.move_on_after(GRACE_SECONDS):
        while left:
            await anyio.sleep(0.01)
            left = await to_thread.run_sync(tree.alive)
    with anyio.move_on_after(END_SECONDS):
        while left:
            send(left, signal.SIGKILL)
            await anyio.sleep(0.005)
            left = await to_thread.run_sync(tree.alive)
    with anyio.move_on_after(END_SECONDS):
        await wait()
    return len(first), len(left)


async def _end_whole(started: Started, last: Callable[[], int | None], tree: Tree, wait: Callable[[], Awaitable[int]]) -> tuple[int, int]:
    """Where the sandbox ends with one process. What is in it is asked politely first, if the command still runs."""
    inside: set[Seen] = set()
    process = started.process
    if process.poll() is None:
        inside = {seen for seen in await to_thread.run_sync(tree.alive) if seen.pid != process.pid}
        send(inside, signal.SIGTERM)
        with anyio.move_on_after(GRACE_SECONDS):
            await wait()
        if process.poll() is None:
            process.kill()
        with anyio.move_on_after(END_SECONDS):
            await wait()
    pid = last()
    return len(inside), 0 if pid is None or await _gone(pid) else 1


async def _gone(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        with anyio.move_on_after(END_SECONDS):
            await anyio.wait_readable(handle)
            return True
        return False
    finally:
        os.close(handle)


async def _end_group(started: Started, wait: Callable[[], Awaitable[int]]) -> tuple[int, int]:
    ended = int(started.process.poll() is None)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(started.process.pid, number)
        with anyio.move_on_after(GRACE_SECONDS):
            await wait()
    with anyio.move_on_after(END_SECONDS):
        await wait()
    return ended, int(started.process.poll() is None)
