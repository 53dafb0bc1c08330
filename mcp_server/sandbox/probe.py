"""Try each promise of a back end on this machine, once, with the recipe that commands get. Sync, about a tenth of a second."""

import fcntl
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_server.sandbox import trial
from mcp_server.sandbox.backend import Backend, Job, Started
from mcp_server.sandbox.profile import Limits, Place, Profile
from mcp_server.sandbox.promises import Promise, Promises
from mcp_server.sandbox.running import MARK
from mcp_server.sandbox.tree import Tree, mark_of, send
from mcp_server.sandbox.usual import SYSTEM
from mcp_server.settings.places import private_folder

SECONDS = 20
"""For one trial: a hundred times what it takes on a machine that is busy."""


LONGEST_ADDRESS = 107
"""Bytes of the path of a unix socket."""

CROWD = 24
"""Processes that the trial may have; it tries for twice as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outside:
    """What the trial must not reach."""

    folder: Path
    port: int
    abstract: str


def probe(backend: Backend, state: Path) -> Promises:
    """Try it out. `state` is Remit's state folder, where the trial's files are made and taken away."""
    try:
        with _outside(private_folder(state)) as outside:
            reading = _tried(backend, outside, writing=False)
            writing = _tried(backend, outside, writing=True)
    except (OSError, ValueError, subprocess.SubprocessError, RuntimeError) as error:
        return Promises(backend=backend.name, reading={}, writing={}, unusable=_first_line(str(error)))
    return Promises(backend=backend.name, reading=reading, writing=writing)


@contextmanager
def _outside(state: Path) -> Generator[_Outside]:
    folder = Path(tempfile.mkdtemp(prefix="trial-", dir=state)).resolve()
    name = f"remit-{secrets.token_hex(8)}"
    try:
        with socket.create_server(("127.0.0.1", 0)) as tcp, _unix(f"\0{name}"):
            yield _Outside(folder=folder, port=tcp.getsockname()[1], abstract=name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _unix(address: str) -> Generator[None]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        yield


def _tried(backend: Backend, outside: _Outside, *, writing: bool) -> Mapping[Promise, str]:
    folder = outside.folder / ("writing" if writing else "reading")
    _furnish(folder)
    profile = _profile(folder, writing=writing)
    address = f"{folder}/outside/s"
    if len(address) <= LONGEST_ADDRESS:
        with _unix(address):
            printed = _run(backend, profile, outside)
    else:
        printed = _run(backend, profile, outside)
    if not printed.startswith("{"):
        raise ValueError(_first_line(printed) or "it started nothing")
    succeeded: dict[str, list[int]] = json.loads(printed)
    broken = {Promise[name]: _ways_around(len(ways)) for name, ways in succeeded.items() if ways}
    if _held(Path(profile.temporary) / "alive"):
        broken[Promise.ENDS] = "a process that left its session outlived it"
    return broken


def _ways_around(count: int) -> str:
    return "a way around it worked when it was tried" if count == 1 else f"{count} ways around it worked when they were tried"


def _furnish(folder: Path) -> None:
    for name in ("work/deep/kept", "outside", "home/.ssh", "temporary"):
        (folder / name).mkdir(parents=True)
    for name in ("work/.env", "work/deep/.env", "work/deep/kept/file", "outside/file", "home/.ssh/key", "temporary/alive"):
        (folder / name).write_text("kept", encoding="utf-8")
    (folder / "work/link").symlink_to("../outside/file")


def _profile(folder: Path, *, writing: bool) -> Profile:
    work = str(folder / "work")
    python = (sys.prefix, sys.base_prefix, os.path.dirname(trial.__file__))
    shown = (*(f"/{name}" for name in SYSTEM), *map(os.path.realpath, python), work, str(folder / "outside"), str(folder / "home"))
    return Profile(
        workspace=work,
        visible=_places(*(path for path in shown if os.path.lexists(path))),
        writable=_places(work) if writing else (),
        protected=_places(f"{work}/deep/kept", f"{work}/absent") if writing else (),
        hidden=_places(f"{folder}/home/.ssh", f"{work}/.env", f"{work}/deep/.env"),
        temporary=str(folder / "temporary"),
        environment={"PATH": "/usr/bin:/bin", "HOME": str(folder / "home")},
        limits=Limits(processes=CROWD) if writing else Limits(),
    )


def _places(*paths: str) -> tuple[Place, ...]:
    return tuple(Place(path=path) for path in paths)


def _run(backend: Backend, profile: Profile, outside: _Outside) -> str:
    """Run the trial and end it with all that it left. Returns what it printed."""
    mark = mark_of(secrets.token_hex(8))
    folder = os.path.dirname(profile.workspace)
    argv = [os.path.realpath(sys.executable), "-I", "-S", trial.__file__, folder, str(os.getpid()), str(outside.port), outside.abstract]
    with tempfile.TemporaryFile(dir=folder) as output:
        started = backend.start(profile, Job(argv=argv, cwd=profile.workspace, output=output.fileno(), mark=(MARK, mark)))
        try:
            with suppress(subprocess.TimeoutExpired):
                started.process.wait(SECONDS)
            _end(started, mark)
        finally:
            started.release()
        output.seek(0)
        return output.read(1 << 16).decode("utf-8", "replace")


def _end(started: Started, mark: str) -> None:
    if started.last is not None:
        started.process.kill()
        started.process.wait(SECONDS)
        _await(started.last())
        return
    tree = Tree(started.process.pid, f"{MARK}={mark}".encode(), "", started.own)
    until = time.monotonic() + SECONDS
    while (left := tree.alive()) and time.monotonic() < until:
        send(left, signal.SIGKILL)
        time.sleep(0.002)
    started.process.wait(SECONDS)


def _await(pid: int | None) -> None:
    if pid is None:
        return
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        select.select([handle], [], [], SECONDS)
        os.close(handle)


def _held(path: Path) -> bool:
    """Does a process that the trial left behind still hold its lock?"""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _first_line(text: str) -> str:
    return text.strip().splitlines()[-1][:300] if text.strip() else ""
