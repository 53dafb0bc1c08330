"""Run inside a sandbox by `probe`: try to break each promise, and print as JSON what succeeded. Imports nothing of ours.

Arguments: the folder of the trial, the pid of who asks, a TCP port and the name of an abstract socket that it listens on.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import sys
from collections.abc import Callable

CROWD = 48
"""Twice what the probe's limit allows."""

GET_NO_NEW_PRIVILEGES = 39


def main() -> None:
    """Try everything; whatever is refused is as it should be."""
    folder, asker, port, abstract = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    work, outside = f"{folder}/work", f"{folder}/outside"
    tries: dict[str, tuple[Callable[[], object], ...]] = {
        "WRITES": (
            lambda: _write(f"{outside}/file"),
            lambda: _write(f"{outside}/new"),
            lambda: _write(f"{work}/link"),
            lambda: os.truncate(f"{outside}/file", 0),
            lambda: os.rename(f"{outside}/file", f"{outside}/moved"),
            lambda: os.link(f"{outside}/file", f"{work}/hard"),
        ),
        "METADATA": (lambda: os.chmod(f"{outside}/file", 0o600), lambda: os.utime(f"{outside}/file")),
        "PROTECTED": (lambda: _write(f"{work}/deep/kept/file"), lambda: os.rename(f"{work}/deep", f"{work}/shallow")),
        "ABSENT": (
            lambda: os.mkdir(f"{work}/absent"),
            lambda: _write(f"{work}/absent/file"),
            lambda: os.rename(f"{work}/absent", f"{work}/other"),
        ),
        "SECRETS": (lambda: _read(f"{folder}/home/.ssh/key"),),
        "HIDDEN": (lambda: _read(f"{work}/.env"), lambda: _read(f"{work}/deep/.env")),
        "NETWORK": (lambda: _reach(socket.AF_INET, ("127.0.0.1", port)),),
        "SOCKETS": (lambda: _reach(socket.AF_UNIX, f"{outside}/s"), lambda: _reach(socket.AF_UNIX, f"\0{abstract}")),
        "PROCESSES": (lambda: _read(f"/proc/{asker}/environ"), lambda: os.kill(int(asker), 0) if _is(asker) else _refused()),
        "SET_ID": (_may_gain,),
        "CROWD": (_crowd,),
    }
    print(json.dumps({name: [n for n, one in enumerate(each) if _succeeds(one)] for name, each in tries.items()}))  # noqa: T201 - its answer
    sys.stdout.flush()
    _leave_one_behind()


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, ValueError):
        return False
    return True


def _write(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("changed")


def _read(path: str) -> None:
    with open(path, "rb") as file:
        if not file.read():
            _refused()


def _refused() -> None:
    raise OSError("refused")


def _is(pid: str) -> bool:
    """Not another process that has this number in here."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return sys.argv[1].encode() not in file.read()


def _reach(family: socket.AddressFamily, address: str | tuple[str, int]) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        one.connect(address)


def _may_gain() -> None:
    if ctypes.CDLL(None).prctl(GET_NO_NEW_PRIVILEGES, 0, 0, 0, 0) == 1:
        _refused()


def _crowd() -> None:
    """More processes than the limit allows, at once."""
    children: list[int] = []
    try:
        for _ in range(CROWD):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _leave_one_behind() -> None:
    """A daemon that sheds session, parents, environment and output, and holds a lock so that it is noticed."""
    kept = os.open(f"{os.environ['TMPDIR']}/alive", os.O_RDWR)
    fcntl.flock(kept, fcntl.LOCK_EX)
    os.set_inheritable(kept, True)
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for other in range(64):
        if other != kept:
            _succeeds(lambda other=other: os.close(other))
    os.execve("/bin/sh", ["sh", "-c", "trap '' TERM HUP; while :; do sleep 60; done"], {})  # noqa: S606 - a bare process is what is tried


if __name__ == "__main__":
    main()
