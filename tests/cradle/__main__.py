"""The cradle: `python -m tests.cradle SOCKET` loads what servers need, and then makes a process for each stand-in that comes.

Each has a keeper, which waits for its end and kills it where the stand-in is gone. All of them are forks; none has a thread before.
"""

import array
import gc
import importlib
import os
import runpy
import select
import shutil
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LOADED = (
    "mcp_server.serving",
    *(f"mcp_server.cli.{name}" for name in ("main", "serve", "approvals", "console", "connect", "sessions")),
    "uvicorn.protocols.http.h11_impl",
    "jwt.algorithms",
    "anyio._backends._asyncio",
)
"""What most of the processes load, and what that loads. None of it starts a thread."""

PROGRAMS = ("tests.behaviour.gated", "tests.behaviour.server_process", "tests.protocol.scripted_server")
"""Likewise, but each is to be run as `__main__`: what it loads stays, the module itself is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a stand-in was started for."""

    module: str
    arguments: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    streams: tuple[int, ...]
    terminal: bool


def received(wire: socket.socket) -> Wanted:
    """What it says of itself, and its streams."""
    head, sent, _, _ = wire.recvmsg(4, socket.CMSG_SPACE(12))
    streams = array.array("i")
    for _, _, given in sent:
        streams.frombytes(given)
    told = b""
    while len(told) < int.from_bytes(head, "big"):
        told += wire.recv(1 << 20)
    folder, count, kind, module, *rest = map(os.fsdecode, told.split(b"\0"))
    arguments = int(count) - 4
    return Wanted(
        module=module,
        arguments=tuple(rest[:arguments]),
        folder=folder,
        environment=dict(pair.split("=", 1) for pair in rest[arguments:]),
        streams=tuple(streams),
        terminal=kind == "terminal",
    )


def become(wanted: Wanted) -> None:
    """Take its place in everything."""
    for number, stream in enumerate(wanted.streams):
        os.dup2(stream, number)
    os.closerange(3, 256)
    if wanted.terminal:
        os.login_tty(0)
    else:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(wanted.folder)
    os.environ.clear()
    os.environ.update(wanted.environment)
    sys.argv[1:] = wanted.arguments
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the life of the process
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, "utf-8", closefd=False)  # noqa: SIM115 - likewise
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115 - likewise
    runpy.run_module(wanted.module, run_name="__main__", alter_sys=True)


def keep(wire: socket.socket, child: int) -> None:
    """Wait for its end and tell it; pass signals on; a stand-in that is gone takes it along."""
    handle = os.pidfd_open(child)
    watched: list[socket.socket | int] = [wire, handle]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if handle in ready:
            _, status = os.waitpid(child, 0)
            wire.send(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True), socket.MSG_NOSIGNAL)
            return
        numbers = wire.recv(64)
        if not numbers:
            watched = [handle]
        for number in numbers or [signal.SIGKILL]:
            signal.pidfd_send_signal(handle, number)


def made(wire: socket.socket, listening: socket.socket) -> Wanted | None:
    """A process for this stand-in, and its keeper. In the process: what it is to do."""
    if os.fork():
        return None
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wanted = received(wire)
    child = os.fork()
    if not child:
        wire.detach()
        listening.detach()
        return wanted
    try:
        for stream in wanted.streams:
            os.close(stream)
        keep(wire, child)
    finally:
        os._exit(0)


def until_born(place: Path) -> Wanted | None:
    """Make processes until standard input ends, as it does with the tests' own process. In one that was made: what it is to do."""
    for name in (*LOADED, *PROGRAMS):
        importlib.import_module(name)
    for name in PROGRAMS:
        del sys.modules[name]
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(place))
    listening.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([listening, 0], [], [])
        if 0 in ready:
            shutil.rmtree(place.parent, ignore_errors=True)
            return None
        wire, _ = listening.accept()
        if wanted := made(wire, listening):
            return wanted
        wire.close()


if __name__ == "__main__":
    born = until_born(Path(sys.argv[1]))
    if born is not None:
        become(born)
