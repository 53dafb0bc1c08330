"""Files that hold one secret, which settings name in its place: read by one function, so that all are held to the same."""

import os
import stat
from pathlib import Path

from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.files import decode

LARGEST = 64 * 1024
"""Bytes. The longest key there is takes a tenth."""

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Without blocking: a pipe in its place must not stop whoever reads it."""


def secret_in(name: str | Path) -> str:
    """The one line that the file holds, without the space around it. `~` is this user's home. Links are followed.

    Raises:
        ConfigError: It cannot be read, is no regular file, belongs to somebody else than this user and root, may be read by others (by a
            group too, unless root gave it to that group), or does not hold one line of text.
    """
    path = Path(name).expanduser()
    try:
        content = _content(path)
    except OSError as error:
        why = "it is not there" if isinstance(error, FileNotFoundError) else error.strerror or type(error).__name__
        raise _fault(path, f"cannot be read: {why}", "name the file that holds the secret, and make it readable for this user") from None
    text = decode(content, str(path))
    line = "" if isinstance(text, Fault) or len(content) > LARGEST else text.strip()
    if not line or "\n" in line:
        raise _fault(path, "does not hold one line of text", "put the secret there, and nothing else")
    return line


def _content(path: Path) -> bytes:
    descriptor = os.open(path, _OPEN)
    try:
        _refuse_unless_private(path, os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    finally:
        os.close(descriptor)


def _refuse_unless_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _fault(path, "is not a regular file", "put the secret into one")
    if os.name != "posix":
        return
    if status.st_uid not in (0, os.geteuid()):
        raise _fault(path, f"belongs to user {status.st_uid}, who can change it", "give it to this user or to root with `chown`")
    given = status.st_uid == 0 != os.geteuid()
    if status.st_mode & (0o027 if given else 0o077):
        raise _fault(path, "others may read it", f"run `chmod {'640' if given else '600'} {path}`")


def _fault(path: Path, problem: str, remedy: str) -> ConfigError:
    return ConfigError((Fault(file=str(path), line=None, problem=problem, remedy=remedy),))
