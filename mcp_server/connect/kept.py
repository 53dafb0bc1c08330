"""What a sign-in gave, in a file of the person's own: one a server's address, mode 0600, changed by one process at a time."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio

from mcp_server.errors import ConfigError, Fault
from mcp_server.protocol.sign_in.given import SignedIn
from mcp_server.settings.places import private_folder
from mcp_server.settings.secret_files import secret_in

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOOK = 0.1
"""Seconds between two tries for the lock: another process's sign-in takes a person's time."""

_FOLDER = "connect"


class KeptSignIn:
    """The file of one server's address."""

    def __init__(self, url: str, state: Path) -> None:
        self._url = url
        self._folder = state / _FOLDER
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._file = self._folder / f"{name}.json"
        self._lock = self._folder / f"{name}.lock"

    def read(self) -> SignedIn | None:
        """None: there is none, or none that can be used."""
        try:
            found = cast("dict[str, Any]", json.loads(self._file.read_text(encoding="utf-8")))
            if found.pop("url") != self._url:
                return None
            signed_in = SignedIn(**found)
            return signed_in if signed_in.access_token else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, signed_in: SignedIn) -> None:
        """Put it in place of what was there, whole or not at all.

        Raises:
            OSError: It cannot be written.
        """
        private_folder(self._folder)
        descriptor, name = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as fresh:
                json.dump({"url": self._url, **signed_in.values()}, fresh)
            Path(name).replace(self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def forget(self) -> bool:
        """Remove it. Was there one?"""
        there = self._file.exists()
        self._file.unlink(missing_ok=True)
        return there

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Nobody else of this person's changes it meanwhile: a refresh token counts once, and a person signs in once."""
        private_folder(self._folder)
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not _taken(descriptor):  # noqa: ASYNC110 - another process holds it; nothing rings across processes
                await anyio.sleep(_LOOK)
            yield
        finally:
            os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def read_key(file: Path) -> str:
    """An API key from a file of its own.

    Raises:
        ConfigError: There is none, or it is not private.
    """
    return checked_key(secret_in(file), str(file))


def checked_key(text: str, where: str) -> str:
    """A key that can be sent.

    Raises:
        ConfigError: It cannot.
    """
    if not text or not text.isascii() or any(sign.isspace() or not sign.isprintable() for sign in text):
        raise ConfigError((Fault(file=where, line=None, problem="holds no key", remedy="put the key there, and nothing else"),))
    return text
