"""Run a program that is spoken to over its standard input and output, and leave nothing of it behind: not after its end, nor after ours,
however that came.
"""

import os
import secrets
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from mcp_server.sandbox import keeper
from mcp_server.sandbox.backend import Backend, Job
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.running import MARK, Running
from mcp_server.sandbox.tree import Tree, mark_of

CLOSING_SECONDS = 2.0
"""Between the end of its input, which asks a server to end by itself, and the signal that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A program that runs, and its streams: descriptors that do not block. They are closed by whoever started it."""

    running: Running
    told: int
    """What is written here it reads."""
    says: int
    """What it writes to standard output."""
    complains: int
    """What it writes to standard error."""


@asynccontextmanager
async def serving(backend: Backend, profile: Profile, argv: Sequence[str], *, cwd: str) -> AsyncGenerator[Served]:
    """Start it; leaving the block closes its input, waits a little, and ends it with all that it started.

    Raises:
        NotStarted: The sandbox cannot be set up. Nothing was run.
        OSError: It cannot be run.
    """
    mark = mark_of(secrets.token_hex(16))
    reads, told = os.pipe()
    says, writes = os.pipe()
    complains, errors = os.pipe()
    ours = [told, says, complains]
    try:
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        pipe = f"pipe:[{os.fstat(writes).st_ino}]"
        job = Job(argv=argv if backend.ends_with_us else kept(argv), cwd=cwd, input=reads, output=writes, errors=errors, mark=(MARK, mark))
        try:
            started = backend.start(profile, job)
        finally:
            for descriptor in (reads, writes, errors):
                os.close(descriptor)
        running = Running(started, Tree(started.process.pid, f"{MARK}={mark}".encode(), pipe, started.own), says)
        try:
            yield Served(running=running, told=told, says=says, complains=complains)
        finally:
            try:
                await _end(running, told, ours)
            finally:
                started.release()
    finally:
        for descriptor in ours:
            with suppress(OSError):
                os.close(descriptor)


async def _end(running: Running, told: int, ours: list[int]) -> None:
    with anyio.CancelScope(shield=True):
        ours.remove(told)
        os.close(told)
        with anyio.move_on_after(CLOSING_SECONDS):
            await running.wait()
        await running.end()


def kept(argv: Sequence[str]) -> list[str]:
    """The same, run by a keeper: where no sandbox ends it when this process is killed."""
    return [sys.executable, "-I", "-S", str(Path(keeper.__file__)), str(os.getpid()), *argv]
