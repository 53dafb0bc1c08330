"""Where consoles of this state folder are open now, for other processes of the same user on the same machine.

Each running console keeps one file, named at random, with its address, and holds a lock on it as long as it lives. The operating system
lets go of a lock when its process ends, however it ends; so neither a number of a process that is used again nor a clock that was set
can make a dead console look alive. An address opens nothing: no token and no secret path is in it.
"""

import json
import os
import re
import socket
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_server.store.faults import from_os
from mcp_server.store.ids import mint

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FOLDER = "consoles"
ADDRESS = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}")
"""Loopback and a port, nothing behind it."""

MOST_BYTES = 1024
"""Of one file: an address and the name of a machine."""

_LOCKED_BYTE = 1 << 20
"""Where on Windows the lock lies: behind the text, since there nobody else may read what is locked."""


@contextmanager
def console_open(state: Path, address: str) -> Generator[None]:
    """Within the block a console answers at `address`, as `http://127.0.0.1:PORT`; `state`: the person's state folder.

    Raises:
        StoreError: It cannot be written down.
        ValueError: It is not such an address, but holds more.
    """
    if ADDRESS.fullmatch(address) is None:
        raise ValueError(f"not the bare address of a console: {address!r}")
    folder = state / FOLDER
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        file, held = _hold(folder, json.dumps({"address": address, "machine": socket.gethostname()}).encode())
    except OSError as error:
        raise from_os(folder, error) from error
    try:
        yield
    finally:
        # First the lock, so that on Windows the file can be removed; without it nobody counts the file.
        os.close(held)
        with suppress(OSError):
            file.unlink()


def console_address(state: Path) -> str | None:
    """The bare address of a console that is alive; of several, the one opened last. None: there is none, or nobody can know."""
    try:
        files = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.name) for entry in os.scandir(state / FOLDER)]
    except OSError:
        return None
    found = (_read(state / FOLDER / name) for _, name in sorted(files, reverse=True) if name.endswith(".json"))
    return next((address for address in found if address is not None), None)


def _hold(folder: Path, text: bytes) -> tuple[Path, int]:
    """A file with the text, locked before it has the name by which others find it: whoever finds it without a lock may remove it."""
    name = mint("con")
    file, draft = folder / f"{name}.json", folder / f"{name}.new"
    made = file if sys.platform == "win32" else draft  # there an open file cannot get another name, nor can it be removed
    held = os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if not _lock(held, alone=True):
            raise BlockingIOError(f"{made} is held by somebody else")
        os.write(held, text)
        if made is draft:
            draft.rename(file)
    except BaseException:
        os.close(held)
        with suppress(OSError):
            made.unlink()
        raise
    return file, held


def _read(file: Path) -> str | None:
    """The address, where whoever wrote it holds it still; a file that a dead console left is removed."""
    try:
        found = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        dead = _lock(found, alone=False)
        text = b"" if dead or not _ours(os.fstat(found)) else os.read(found, MOST_BYTES)
    except OSError:
        return None
    finally:
        os.close(found)
    if dead:
        with suppress(OSError):
            file.unlink()
    return _address(text)


def _address(text: bytes) -> str | None:
    """What a file says, where that is an address on this machine. A folder that machines or containers share holds others' too."""
    try:
        said = json.loads(text)
        address, machine = said["address"], said["machine"]
    except (ValueError, KeyError, TypeError):
        return None
    here = machine == socket.gethostname() and isinstance(address, str) and ADDRESS.fullmatch(address) is not None
    return address if here else None


def _ours(found: os.stat_result) -> bool:
    """A plain file of this user's."""
    return stat.S_ISREG(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.geteuid())


def _lock(descriptor: int, *, alone: bool) -> bool:
    """Take the lock, until the descriptor is closed; False where somebody holds it `alone`. Those who only look share it, so that two who
    look at once do not take each other for a console; Windows, where this was not run, has no shared one here.
    """
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except PermissionError:
        if sys.platform != "win32":
            raise
        return False
    finally:
        if sys.platform == "win32":
            os.lseek(descriptor, 0, os.SEEK_SET)
    return True
