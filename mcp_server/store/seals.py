"""Checkpoints: what was in the audit up to an event, signed with a key and kept in a file beside the database, never in it.

The signature is an HMAC with SHA-256, which the standard library has; one that strangers can check would need a package that no server
needs otherwise, and whoever may read the audit on this machine may read the key as well. Whoever has the key can forge.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from mcp_server.errors import StoreError

KEY_BYTES = 32
SEALS, KEY = ".seals", ".key"
"""Added to the database's name."""

FIRST = "0" * 64
"""What stands before the first checkpoint."""


class NotASeal(Exception):
    """A line is not one that was written here. The room's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """One line of the file: the events `first` to `last` are those whose hashes have this digest.

    One without events (`first` after `last`) is written where `retired` grows.
    """

    number: int
    """From 1, without gaps."""
    store: str
    """The database's own id."""
    at: float
    newest: float = 0.0
    """The time of the newest event in it."""
    first: int
    last: int
    unchained: int
    """Up to which event the audit is older than the chain."""
    retired: int
    """Up to which event retention may have removed them, so that only their checkpoints are left."""
    digest: str = ""
    """SHA-256 over the hashes of its events, in order."""
    heads: Mapping[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """Of each writer with an event in it, the last link: its place and its hash."""
    previous: str = FIRST
    """The signature of the checkpoint before."""
    key: str = ""
    """Which key signed; not the key."""
    signature: str = ""


def signed(seal: Seal, key: bytes) -> Seal:
    """The same with its signature."""
    named = _with(seal, key=key_name(key), signature="")
    return _with(named, signature=_sign(named, key))


def is_signed_with(seal: Seal, key: bytes) -> bool:
    """Whether nothing of it was changed since."""
    return hmac.compare_digest(_sign(_with(seal, signature=""), key).encode(), seal.signature.encode(errors="replace"))


def key_name(key: bytes) -> str:
    """Tells keys apart; tells nothing of the key."""
    return hashlib.sha256(b"remit audit key" + key).hexdigest()[:16]


def _sign(seal: Seal, key: bytes) -> str:
    return hmac.new(key, written(seal).encode(), hashlib.sha256).hexdigest()


def _with(seal: Seal, **fields: Any) -> Seal:
    return Seal(**{name: getattr(seal, name) for name in Seal.__slots__} | fields)


def written(seal: Seal) -> str:
    """Its one line, the same each time."""
    return json.dumps({name: getattr(seal, name) for name in Seal.__slots__}, sort_keys=True, separators=(",", ":"))


def read_seal(line: bytes) -> Seal:
    """What `written` wrote.

    Raises:
        NotASeal: It did not.
    """
    try:
        fields = cast("dict[str, Any]", json.loads(line))
        heads: dict[str, Any] = fields["heads"]
        fields["heads"] = {writer: (int(place), bytes.fromhex(last).hex()) for writer, (place, last) in heads.items()}
        numbers = (fields[name] for name in ("number", "first", "last", "unchained", "retired", "at", "newest"))
        texts = (fields[name] for name in ("store", "digest", "previous", "key", "signature"))
        if not all(type(number) in (int, float) for number in numbers) or not all(isinstance(text, str) for text in texts):
            raise NotASeal
        seal = Seal(**fields)
        if written(seal).encode() != line:
            raise NotASeal
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotASeal from error
    return seal


class SealFile:
    """The checkpoints and the key of one database. Whoever appends holds the database's lock."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + SEALS)
        self.key_path = database.with_name(database.name + KEY)

    def key(self) -> bytes | None:
        """None: there is none.

        Raises:
            OSError: It cannot be read.
        """
        try:
            return self.key_path.read_bytes()
        except FileNotFoundError:
            return None

    def key_or_new(self) -> bytes:
        """The key; a new one where nothing was ever signed.

        Raises:
            StoreError: It is lost, or no key.
            OSError: It cannot be read or written.
        """
        found = self.key()
        if found is not None and len(found) == KEY_BYTES:
            return found
        if self.last() is not None:
            fault = "is lost" if found is None else "is damaged"
            raise StoreError(
                f"the audit is not signed: the key {self.key_path} {fault}. Put it back from a copy; "
                f"without it, move {self.path.name} away, and a new key is made that vouches for the audit from then on"
            )
        key = secrets.token_bytes(KEY_BYTES)
        waiting = self.key_path.with_name(self.key_path.name + ".new")
        _write(waiting, key, os.O_TRUNC)
        waiting.replace(self.key_path)
        return key

    def lines(self) -> list[bytes]:
        """Every whole line. The last that was cut short by a crash was never a checkpoint."""
        try:
            return self.path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []

    def last(self) -> Seal | None:
        """The newest; None where there is none.

        Raises:
            StoreError: The line is none of ours.
            OSError: It cannot be read.
        """
        line = _last_line(self.path)
        try:
            return None if line is None else read_seal(line)
        except NotASeal:
            raise StoreError(
                f"the audit is not signed: the last line of {self.path} is no checkpoint. `remit audit verify` tells more"
            ) from None

    def append(self, seal: Seal) -> None:
        """Write it, on the disk when this returns. What a crash left of another is taken off before.

        Raises:
            OSError: It cannot be written.
        """
        if self.path.exists():
            whole = _length_of_whole_lines(self.path)
            if whole != self.path.stat().st_size:
                os.truncate(self.path, whole)
        _write(self.path, written(seal).encode() + b"\n", os.O_APPEND)


def _write(path: Path, content: bytes, flag: int) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | flag | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o600)
    with open(descriptor, "wb", closefd=True) as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


_BLOCK = 65536
"""Bytes read from the end at first: many checkpoints, of which one is wanted."""


def _last_line(path: Path) -> bytes | None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    block = _BLOCK
    while True:
        with path.open("rb") as file:
            file.seek(max(0, size - block))
            whole, ended, _torn = file.read(block).rpartition(b"\n")
        if not ended and block >= size:
            return None
        if ended and (b"\n" in whole or block >= size):
            return whole.rpartition(b"\n")[2]
        block *= 4


def _length_of_whole_lines(path: Path) -> int:
    size = path.stat().st_size
    with path.open("rb") as file:
        block = _BLOCK
        while True:
            file.seek(max(0, size - block))
            place = file.read(block).rfind(b"\n")
            if place >= 0:
                return max(0, size - block) + place + 1
            if block >= size:
                return 0
            block *= 4
