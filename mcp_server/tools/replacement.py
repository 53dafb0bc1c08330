"""Put a new content in a file's place in one step: the old one or the new one is there, never a part.

Mode, ownership and extended attributes are the old file's. Another name of it (a hard link) keeps the old content.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

import anyio
from anyio import lowlevel, to_thread

from mcp_server.errors import ToolFailure
from mcp_server.tools.opening import WALKS, Place, look, opened, place_of

if os.name == "posix":
    import fcntl

LARGEST = 10 * 1024 * 1024
"""Bytes of a file that edit and write handle; it is held whole, twice."""

LOCK_SECONDS = 10
"""How long a write waits for another write in the same folder."""

QUEUE_SECONDS = 60
"""How long a write waits for its turn among this process's own in the same folder: many people may write at once."""

_POLL = 0.01

_TURNS: WeakValueDictionary[tuple[object, int, int], anyio.Lock] = WeakValueDictionary()
"""By loop and folder, for as long as somebody writes there or waits to: each in the order in which they came. The lock between processes
has no order, and whoever waits for it looks again and again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """A file as it is now, whole."""

    content: bytes
    found: os.stat_result


@asynccontextmanager
async def held(resolved: str) -> AsyncGenerator[Place]:
    """The path's folder, open and locked against other writes of ours, in this process or another.

    Raises:
        ToolFailure: Somebody holds it for longer than the bound.
    """
    with place_of(resolved) as place, _lockable(place) as handle:
        if handle is None:
            yield place
            return
        async with _turn(handle):
            await _locked(handle)
            yield place


def current(place: Place) -> Current | None:
    """What is there; None: nothing.

    Raises:
        ToolFailure: It is no regular file, or too large.
    """
    if look(place) is None:
        return None
    with opened(place) as (handle, found):
        if found.st_size > LARGEST:
            raise ToolFailure(f"{place.path} has {found.st_size:,} bytes; files up to {LARGEST:,} bytes can be changed here")
        content = b""
        while len(content) <= LARGEST and (more := os.read(handle, LARGEST + 1)):
            content += more
        return Current(content=content, found=found)


def put(place: Place, content: bytes, before: Current | None) -> os.stat_result:
    """Write `content` there. `before` is what was seen: if it is not what stands there now, nothing is written.

    Raises:
        ToolFailure: Somebody else changed it, it is read-only, or its owner cannot be kept.
        OSError: The disk is full, and the like; the old file is untouched.
    """
    if before is not None:
        refuse_if_read_only(place)
    temporary = staged(place, content, before, place)
    try:
        refuse_if_changed(place, before)
        os.replace(temporary.at, place.at, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        remove(temporary)
        raise
    sync_folder(place)
    return os.stat(place.at, dir_fd=place.folder, follow_symlinks=False)


def staged(place: Place, content: bytes, like: Current | None, source: Place) -> Place:
    """The content in a file beside `place`, on the disk, ready to be renamed. Mode, owner and attributes are those of `like`,
    which stands at `source`; None: those of a new file.

    Raises:
        ToolFailure: Its owner cannot be kept.
        OSError: The disk is full, and the like.
    """
    temporary = beside(place, "tmp")
    try:
        _write(temporary, content, like, source)
    except BaseException:
        remove(temporary)
        raise
    return temporary


def beside(place: Place, ending: str) -> Place:
    """A name of ours in the same folder that nothing has."""
    name = f".remit-{secrets.token_hex(8)}.{ending}"
    return Place(folder=place.folder, path=os.path.join(os.path.dirname(place.path), name), name=name)


def remove(place: Place) -> None:
    """Take the file away, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place.at, dir_fd=place.folder)


def refuse_if_read_only(place: Place) -> None:
    """Raise ToolFailure where the file's mode does not let this user write, even though replacing it would go."""
    if not os.access(place.at, os.W_OK, dir_fd=place.folder, effective_ids=os.access in os.supports_effective_ids):
        raise ToolFailure(f"{place.path} is read-only; nothing was written")


async def make_folders(resolved: str) -> int:
    """Make the folders on the way to a file, none of them through a link. Returns how many were made."""
    return await to_thread.run_sync(_make_folders, os.path.dirname(resolved))


def _make_folders(folder: str) -> int:
    missing: list[str] = []
    while not os.path.lexists(folder):
        folder, name = os.path.split(folder)
        missing.append(name)
    made = folder
    for name in reversed(missing):
        made = os.path.join(made, name)
        with place_of(made) as place, contextlib.suppress(FileExistsError):
            os.mkdir(place.at, dir_fd=place.folder)
    return len(missing)


def _write(temporary: Place, content: bytes, before: Current | None, place: Place) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(temporary.at, flags, 0o666 if before is None else 0o600, dir_fd=temporary.folder)
    with os.fdopen(handle, "wb") as file:
        if before is not None and os.name == "posix":
            _take_after(handle, before.found, place)
        file.write(content)
        file.flush()
        os.fsync(handle)


def _take_after(handle: int, old: os.stat_result, place: Place) -> None:
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(handle, old.st_uid, old.st_gid)
        except PermissionError:
            raise ToolFailure(f"{place.path} belongs to another user or group, which could not be kept; nothing was written") from None
    _copy_attributes(handle, place)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _copy_attributes(handle: int, place: Place) -> None:
    if not hasattr(os, "listxattr"):
        return
    with opened(place) as (source, _):
        try:
            for name in os.listxattr(source):
                os.setxattr(handle, name, os.getxattr(source, name))
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EPERM, errno.ENODATA, errno.EINVAL):
                raise


def refuse_if_changed(place: Place, before: Current | None) -> None:
    """Raise ToolFailure unless what stands there is what was seen."""
    now = look(place)
    if (now is None) != (before is None) or (now is not None and before is not None and _identity(now) != _identity(before.found)):
        raise ToolFailure(f"{place.path} was changed by somebody else just now; nothing was written: read it again")


def _identity(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def sync_folder(place: Place) -> None:
    """Have the folder's names on the disk."""
    with _lockable(place) as handle:
        if handle is not None:
            os.fsync(handle)


@contextmanager
def _lockable(place: Place) -> Generator[int | None]:
    """The folder opened so that it can be locked and synced; None where the system has no such thing."""
    if not WALKS or place.folder is None:
        yield None
        return
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
    try:
        yield handle
    finally:
        os.close(handle)


@asynccontextmanager
async def _turn(handle: int) -> AsyncGenerator[None]:
    """Alone in this folder, of all writes of this process."""
    found = os.fstat(handle)
    key = (lowlevel.current_token(), found.st_dev, found.st_ino)
    turn = _TURNS.setdefault(key, anyio.Lock())
    with anyio.move_on_after(QUEUE_SECONDS) as scope:
        await turn.acquire()
    if scope.cancelled_caught:
        raise ToolFailure("too many write in the same folder just now; nothing was written: try again")
    try:
        yield
    finally:
        turn.release()


async def _locked(handle: int) -> None:
    with anyio.move_on_after(LOCK_SECONDS):
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                await anyio.sleep(_POLL)
    raise ToolFailure("another process is writing in the same folder; nothing was written: try again")
