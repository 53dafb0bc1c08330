"""Run one program and leave nothing of it behind: not after its end, a time-out, or a cancelled call.

Platform code of `bash`. On Linux its processes are found by descent, by session, by a mark in their environment and by the output
they hold open, so that daemons are ended too; one that sheds all four escapes until a sandbox holds it. Elsewhere (macOS, not run
here) the process group is ended.
"""

import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio import CancelScope, to_thread
from anyio.abc import Process

MARK = "REMIT_CALL"
"""The variable that marks the processes of one call."""

GRACE_SECONDS = 0.2
"""Between the polite signal and the other: time to remove a lock file, well below the second that a cancel may take."""

END_SECONDS = 5
"""How long the ending itself may take before what is left is reported."""

DRAIN_SECONDS = 0.5
"""How long the rest of the output is waited for, once after the program's end and once after that of all it left running:
somebody may hold the pipe for ever."""

BEAT_SECONDS = 5
"""Between two signs of life to the caller."""

CHUNK = 64 * 1024

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How it ended."""

    code: int | None
    """The exit code, minus the signal's number for one that a signal ended; None: timed out."""
    ended: int
    """Processes that were still running when it was over, and were ended."""
    escaped: int
    """Those that could not be ended."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A process by number and start, so that a number given again is not taken for it."""

    pid: int
    started: str


@dataclass(slots=True)
class _Tree:
    """The processes of one call, wherever they have gone."""

    leader: int
    mark: bytes
    pipe: str
    """What a link to the call's output reads."""
    known: set[_Seen] = field(default_factory=set[_Seen])

    def alive(self) -> set[_Seen]:
        """Those running now, and remembered from now on."""
        table = _processes()
        mine = {seen for seen in self.known if seen in table}
        for seen, (parent, group, session) in table.items():
            if self.leader in (seen.pid, parent, group, session) or _marked(seen.pid, self.mark) or _writes(seen.pid, self.pipe):
                mine.add(seen)
        while more := {seen for seen, (parent, _, _) in table.items() if seen not in mine and parent in {one.pid for one in mine}}:
            mine |= more
        self.known |= mine
        return mine


async def run(
    argv: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    seconds: float,
    take: Callable[[bytes], None],
    beat: Callable[[float], Awaitable[None]],
    every: float = BEAT_SECONDS,
) -> Finished:
    """Run it to its end, or for `seconds`; its output, both streams in their order, goes to `take`.
    `beat` is told `every` so often how long it has run.

    Raises:
        OSError: It could not be started.
    """
    mark = secrets.token_hex(16)
    reading, writing = os.pipe()
    pipe = f"pipe:[{os.fstat(writing).st_ino}]"
    try:
        os.set_blocking(reading, False)
        try:
            process = await anyio.open_process(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=cwd,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        finally:
            os.close(writing)
        return await _attended(
            process, _Tree(process.pid, f"{MARK}={mark}".encode(), pipe), reading, seconds, take, partial(_beating, beat, every)
        )
    finally:
        os.close(reading)


async def _attended(
    process: Process,
    tree: _Tree,
    reading: int,
    seconds: float,
    take: Callable[[bytes], None],
    beating: Callable[[], Coroutine[None, None, None]],
) -> Finished:
    drained = anyio.Event()
    ended, escaped, timed_out = 0, 0, True
    async with anyio.create_task_group() as group:
        group.start_soon(_drain, reading, take, drained)
        group.start_soon(beating)
        try:
            with anyio.move_on_after(seconds):
                await process.wait()
            if process.returncode is not None:
                with anyio.move_on_after(DRAIN_SECONDS):
                    await drained.wait()
        finally:
            timed_out = process.returncode is None
            with CancelScope(shield=True):
                ended, escaped = await _end(process, tree)
        with anyio.move_on_after(DRAIN_SECONDS):
            await drained.wait()
        group.cancel_scope.cancel()
    return Finished(code=None if timed_out else process.returncode, ended=ended, escaped=escaped)


async def _drain(reading: int, take: Callable[[bytes], None], drained: anyio.Event) -> None:
    while True:
        await anyio.wait_readable(reading)
        with suppress(BlockingIOError):
            data = os.read(reading, CHUNK)
            if not data:
                drained.set()
                return
            take(data)


async def _beating(beat: Callable[[float], Awaitable[None]], every: float) -> None:
    started = anyio.current_time()
    while True:
        await anyio.sleep(every)
        await beat(anyio.current_time() - started)


async def _end(process: Process, tree: _Tree) -> tuple[int, int]:
    """End whatever still runs. Returns how many did, and how many could not be ended."""
    if not _PROC.joinpath("self", "stat").exists():
        return await _end_group(process)
    first = await to_thread.run_sync(tree.alive)
    left = first
    _signal(left, signal.SIGTERM)
    with anyio.move_on_after(GRACE_SECONDS):
        while left:
            await anyio.sleep(0.01)
            left = await to_thread.run_sync(tree.alive)
    with anyio.move_on_after(END_SECONDS):
        while left:
            _signal(left, signal.SIGKILL)
            await anyio.sleep(0.005)
            left = await to_thread.run_sync(tree.alive)
    if process.returncode is None:
        with anyio.move_on_after(END_SECONDS):
            await process.wait()
    return len(first), len(left)


async def _end_group(process: Process) -> tuple[int, int]:
    ended = int(process.returncode is None)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
    with anyio.move_on_after(END_SECONDS):
        await process.wait()
    return ended, int(process.returncode is None)


def _signal(processes: set[_Seen], number: signal.Signals) -> None:
    for seen in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(seen.pid, number)


def _processes() -> dict[_Seen, tuple[int, int, int]]:
    """Every process but zombies: parent, group and session."""
    table: dict[_Seen, tuple[int, int, int]] = {}
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        with suppress(OSError, IndexError):
            # The name in brackets may hold spaces and brackets; what follows the last one is numbers.
            fields = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X"):
                started = fields[19].decode()
                table[_Seen(int(name), started)] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return table


def _marked(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _writes(pid: int, pipe: str) -> bool:
    for descriptor in ("1", "2"):
        with suppress(OSError):
            if os.readlink(_PROC / str(pid) / "fd" / descriptor) == pipe:
                return True
    return False
