"""What SQLite reports, told to an operator: which of our errors it is, which file, and what to do."""

import errno
import os
import sqlite3
from pathlib import Path

from mcp_server.errors import StoreDamaged, StoreError, StoreFull, StoreLocked

LEAST_FREE_BYTES = 256 * 1024
"""With less than this free, an input/output error is taken for a full disk: SQLite reports some full disks (its shared-memory file cannot
grow) only as such, and a few pages of the log must fit."""


class UnreadableRow(Exception):
    """A stored record that is not what was written. The room's own: it leaves as `StoreDamaged`."""


class UnwritableValue(Exception):
    """A record holds something that cannot be stored. The room's own: it leaves as `StoreError`."""


def damaged(path: Path, what: str) -> StoreDamaged:
    """The file cannot be trusted."""
    return StoreDamaged(
        f"the store {path} is damaged: {what}. It is left untouched. Stop every server that uses it, move it away together with "
        f"{path.name}-wal and {path.name}-shm (keep the copies), then put a backup in its place or start with an empty one"
    )


def locked(path: Path, seconds: float) -> StoreLocked:
    """Somebody else holds it."""
    return StoreLocked(
        f"the store {path} was held by another process for more than {seconds:g} s. Nothing was written. Look for a server that hangs, "
        f"or a backup or sqlite3 shell that is open on the file, end it, and try again"
    )


def full(path: Path) -> StoreFull:
    """No room for more."""
    return StoreFull(
        f"there is no room to write to the store {path}. Nothing of this change was written. Free some space on the disk that holds "
        f"{path.parent} (or raise its quota) and try again; nothing needs to be repaired"
    )


def from_os(path: Path, error: OSError) -> StoreError:
    """What the operating system said about the file or its folder."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full(path)
    return StoreError(
        f"the store {path} cannot be used: {error.strerror or error}. Check the path, its permissions, and that this user owns it"
    )


def from_sqlite(path: Path, error: sqlite3.Error, *, waited: float) -> StoreError:
    """What SQLite said. `waited`: the bound on waiting for a lock, seconds."""
    match _primary_code(error):
        case None:
            return StoreError(f"the store {path} cannot be used: {error}")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return locked(path, waited)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_FORMAT:
            return damaged(path, str(error))
        case sqlite3.SQLITE_ERROR:
            return damaged(path, f"its tables are not those of this version ({error})")
        case sqlite3.SQLITE_FULL:
            return full(path)
        case sqlite3.SQLITE_IOERR if _disk_is_full(path):
            return full(path)
        case code:
            return StoreError(f"the store {path} {_REFUSALS.get(code, _OTHERWISE)} ({error}). Nothing of this change was written")


_UNWRITABLE = (
    "cannot be written: check that this user owns the file and its folder, that both are writable, and that the disk is not "
    "mounted read-only"
)
_OTHERWISE = "answered with an error; if it does so again, check the disk and its quota"
_REFUSALS = {
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: _UNWRITABLE,
    sqlite3.SQLITE_PERM: _UNWRITABLE,
    sqlite3.SQLITE_CONSTRAINT: "refused a change that does not fit what it holds",
}


def _primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's result code without its extension; None for errors of the Python module itself, e.g. a closed connection."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _disk_is_full(path: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    try:
        room = os.statvfs(path.parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < LEAST_FREE_BYTES
