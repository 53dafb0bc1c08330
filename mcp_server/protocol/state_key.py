"""The key that seals request states. Kept in the state folder, so that answers given after a restart still count."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mcp_server.errors import ConfigError, Fault

_NAME = "request-state.key"
_BYTES = 32


def request_state_key(folder: Path) -> bytes:
    """The key of this state folder, made when there is none. Only its owner can read it.

    Raises:
        ConfigError: The file is not a key, or others may read it.
    """
    path = folder / _NAME
    draft = folder / f"{_NAME}.{secrets.token_hex(8)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_BYTES))
        # Linked, not written in place: of two servers that start at once both get the one key, whole.
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    return _read(path)


def _read(path: Path) -> bytes:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ConfigError((Fault(file=str(path), line=None, problem="others may read this key", remedy=f"run: chmod 600 {path}"),))
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise ConfigError((Fault(file=str(path), line=None, problem="not a key", remedy="delete the file; open forms are lost"),))
    return key
