"""Open exactly the file that was judged: every part of an already resolved path, and no link on the way.

Platform code of the file tools. Where the system opens relative to a folder (Linux, macOS) the path is walked by descriptors;
elsewhere (Windows, not run here) the path is resolved again just before it is opened.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from mcp_server.errors import ToolFailure

WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")

_CLOSE = getattr(os, "O_CLOEXEC", 0)
_STAY = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _STAY | _CLOSE
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _STAY | _CLOSE

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A name in an open folder. `folder` is a descriptor; None where the system cannot open relative to one."""

    folder: int | None
    path: str
    """The resolved path, for texts and for systems without descriptors."""
    name: str

    @property
    def at(self) -> str:
        """What to pass to a call that also gets `dir_fd=place.folder`."""
        return self.name if self.folder is not None else self.path


@contextmanager
def place_of(resolved: str) -> Generator[Place]:
    """The path's folder, held open.

    Raises:
        OSError: It is not there, or a part of it is a link by now.
    """
    parent, name = os.path.split(resolved)
    if not WALKS:
        if os.path.realpath(resolved) != os.path.normpath(resolved):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), resolved)
        yield Place(folder=None, path=resolved, name=name)
        return
    with folder_of(parent) as folder:
        yield Place(folder=folder, path=resolved, name=name or ".")


@contextmanager
def folder_of(resolved: str) -> Generator[int]:
    """The folder itself, held open. Needs a system that walks."""
    folder = _walk(resolved)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def working_folder(resolved: str) -> Generator[str]:
    """The folder as a path to start a program in that cannot be swapped for another, where the system has such a path."""
    if not WALKS or not os.path.isdir("/proc/self/fd"):
        yield resolved
        return
    with folder_of(resolved) as handle:
        yield f"/proc/self/fd/{handle}"


def look(place: Place) -> os.stat_result | None:
    """What stands there now, links not followed; None: nothing."""
    try:
        return os.stat(place.at, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def opened(place: Place) -> Generator[tuple[int, os.stat_result]]:
    """The regular file there, opened to be read; never waits for a writer or a device.

    Raises:
        ToolFailure: It is no regular file.
        OSError: It cannot be opened.
    """
    before = os.stat(place.at, dir_fd=place.folder, follow_symlinks=False)
    refuse_unless_regular(before, place.path)
    handle = os.open(place.at, _READ, dir_fd=place.folder)
    try:
        found = os.fstat(handle)
        refuse_unless_regular(found, place.path)
        yield handle, found
    finally:
        os.close(handle)


def refuse_unless_regular(found: os.stat_result, path: str) -> None:
    """Raise ToolFailure, in words, for anything but a regular file."""
    for test, kind in _KINDS:
        if test(found.st_mode):
            hint = "; use list to see what is in it" if kind == "a folder" else "; only regular files can be used"
            raise ToolFailure(f"{path} is {kind}{hint}")


def in_words(error: OSError, path: str) -> str:
    """What went wrong with a file, for a model."""
    match error.errno:
        case errno.ENOENT:
            return f"{path} does not exist"
        case errno.EACCES | errno.EPERM:
            return f"the operating system does not allow it: {path}"
        case errno.ELOOP | errno.ENOTDIR:
            return f"a part of {path} is not a folder, or a link that leads nowhere fixed"
        case errno.ENOSPC | errno.EDQUOT:
            return f"the disk is full; {path} is as it was"
        case errno.EROFS:
            return f"{path} lies on a read-only file system"
        case _:
            return f"{path}: {error.strerror or error}"


def _walk(resolved: str) -> int:
    folder = os.open("/", _FOLDER)
    for part in [part for part in resolved.split("/") if part]:
        try:
            inner = os.open(part, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder
