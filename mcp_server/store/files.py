"""The database file as the operating system sees it: who owns it, who may read it, whether it is what it was.

The platform code of this room. Never opens an existing database: closing any descriptor on it would drop the locks that SQLite
holds for the whole process.
"""

import os
import stat
from pathlib import Path

from mcp_server.errors import StoreError
from mcp_server.store.faults import damaged, from_os

POSIX = os.name == "posix"
COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database. A link in their place would be followed like one in its own."""

SMALLEST_DATABASE = 512
"""Bytes: the smallest page that SQLite knows."""

Identity = tuple[int, int]
"""Device and inode."""


def prepare(path: Path, *, user: int | None = None) -> None:
    """Make the folder (0700) and an empty file (0600) where there are none; take others' read bits off a file that is this user's.

    `user`: the id that must own them, by default the process's own. On Windows nothing is checked: the profile folder is private.

    Raises:
        StoreError: A link, not a plain file, another user's, or in a folder that others may write to.
        StoreDamaged: The file was emptied while its log still holds changes.
    """
    owner = os.geteuid() if user is None and POSIX else user
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if owner is not None:
            _check_folder(path, owner)
            for companion in ("", *COMPANIONS):
                _check_file(path.with_name(path.name + companion), owner)
        _create(path)
        _check_size(path)
    except OSError as error:
        raise from_os(path, error) from error
    except ValueError as error:
        raise StoreError(f"{str(path)!r} is not a path that a store can have: {error}") from error


def identity(path: Path) -> Identity | None:
    """Which file the path names now; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _create(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def _check_size(path: Path) -> None:
    """SQLite takes a file of one byte for an empty one, and throws away the log beside an empty one."""
    log = path.with_name(f"{path.name}-wal")
    match path.stat().st_size:
        case 0 if log.exists() and log.stat().st_size > 0:
            raise damaged(path, f"it is empty, but {log.name} holds changes")
        case size if 0 < size < SMALLEST_DATABASE:
            raise damaged(path, f"with {size} bytes it is no database")
        case _:
            return


def _check_folder(path: Path, owner: int) -> None:
    folder = path.parent.stat()
    if folder.st_uid != owner:
        raise StoreError(f"the folder {path.parent} belongs to another user; keep the store {path.name} in one of your own")
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreError(f"others may write to the folder {path.parent}, so the store {path.name} cannot be kept there; chmod 700 it first")


def _check_file(path: Path, owner: int) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise StoreError(f"{path} is a link; a store is never opened through one. Name the file itself, or remove the link")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a plain file; name another path for the store")
    if found.st_uid != owner:
        raise StoreError(f"{path} belongs to another user; it is not opened. Use a store of your own")
    if found.st_mode & 0o077:
        path.chmod(found.st_mode & 0o700)
