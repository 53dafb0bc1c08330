"""Files that hold keys of this deployment: made when there are none, and read by their owner alone."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mcp_server.errors import ConfigError, Fault

BYTES = 32
"""Of a key."""


def kept_keys(path: Path, *, remedy: str) -> tuple[bytes, ...]:
    """The keys in the file, one a line as 64 hexadecimal digits, the one in use first. The file is made with one where there is none.

    Args:
        path: In a folder that is there.
        remedy: What somebody does about a file that holds no keys.

    Raises:
        ConfigError: The file holds something else, or others may read it.
    """
    if not path.exists():
        _make(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ConfigError((Fault(file=str(path), line=None, problem="others may read this key", remedy=f"run: chmod 600 {path}"),))
    keys = _read(path)
    if not keys or any(len(key) != BYTES for key in keys):
        raise ConfigError((Fault(file=str(path), line=None, problem="not a key", remedy=remedy),))
    return keys


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(BYTES))
        # Linked, not written in place: of two servers that start at once both get the one key, whole.
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _read(path: Path) -> tuple[bytes, ...]:
    try:
        return tuple(bytes.fromhex(line) for line in path.read_text(encoding="ascii").splitlines() if line.strip())
    except ValueError:
        return ()
