"""Reading a file that a person wrote: regular, UTF-8, of bounded size, or a fault that says why not.

A file that is absent is fine; one that is there and cannot be read is a fault, so that no rule in it is lost silently.
"""

import os
import stat
import sys
from pathlib import Path

from mcp_server.errors import Fault

MAX_BYTES = 1_000_000
"""Largest file read as configuration; the bound of `strict_yaml` in bytes."""

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Without blocking, so that a pipe put in a file's place cannot stop the start."""


def read_text(path: Path, *, owner: int | None = None) -> str | Fault | None:
    """The text of a file; None where there is none; a fault where it cannot be had.

    Args:
        path: The file. Links are followed.
        owner: On POSIX, the user id that must own the file, which nobody else may write. None: anybody.
    """
    try:
        descriptor = os.open(path, _OPEN)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _cannot(path, error)
    try:
        return _regular(descriptor, path, owner)
    except OSError as error:
        return _cannot(path, error)
    finally:
        os.close(descriptor)


def _regular(descriptor: int, path: Path, owner: int | None) -> str | Fault:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return Fault(file=str(path), line=None, problem="is not a regular file", remedy="put a text file there, or remove it")
    if (problem := foreign(status, owner)) is not None:
        return Fault(file=str(path), line=None, problem=problem, remedy=OWNER_REMEDY)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return decode(file.read(MAX_BYTES + 1), str(path))


OWNER_REMEDY = "give it to root (`chown root`) and close it to others (`chmod go-w`)"


def foreign(status: os.stat_result, owner: int | None) -> str | None:
    """Why a file or folder is not one that only `owner` writes; None where it is, and on Windows."""
    if owner is None or sys.platform == "win32":
        return None
    if status.st_uid != owner:
        return f"holds managed settings but belongs to user {status.st_uid}, not {owner}"
    if status.st_mode & 0o022:
        return "holds managed settings but others may write it"
    return None


def decode(content: bytes, file: str) -> str | Fault:
    """UTF-8 text of a file's content, a byte order mark dropped."""
    if len(content) > MAX_BYTES:
        return Fault(file=file, line=None, problem=f"is larger than {MAX_BYTES:,} bytes", remedy="remove what is not needed")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Fault(file=file, line=line, problem="is not UTF-8 text", remedy="save it as UTF-8")


def _cannot(path: Path, error: OSError) -> Fault:
    reason = (error.strerror or type(error).__name__).lower()
    return Fault(file=str(path), line=None, problem=f"cannot be read: {reason}", remedy="make it readable for this user, or remove it")
