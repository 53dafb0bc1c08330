"""What binds an audit event to the one before it: each writer's events are a chain of hashes, written with them in one transaction.

A writer is one open handle on a store, so every process has one of its own, and a chain never forks. The chain needs no key:
whoever can write the database can make it anew. What holds it in place are the checkpoints outside; see `seals`.
"""

import hashlib
import secrets
import sqlite3
import struct
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from mcp_server.redaction import Redaction

GENESIS = bytes(32)
"""What stands before a writer's first event, and before every event from the time when there were no chains."""

WRITER_BYTES = 8
"""Enough that no two handles of one store ever draw the same."""

NOBODY = bytes(WRITER_BYTES)
"""The writer of events from before the chain."""

_MARK = b"remit audit 1"
_ABSENT = 0xFFFFFFFF
_KEPT = 16
"""Heads remembered. Of these at most those of one transaction can have been rolled back."""


class Head(NamedTuple):
    """The last link of a chain."""

    seq: int
    place: int
    hash: bytes


class Row(NamedTuple):
    """An event as its row has it. `place`: its number within its writer's chain, from 1; 0 outside a chain."""

    seq: int
    at: float
    kind: str
    principal: str
    session_id: str
    root_id: str | None
    record: str
    writer: bytes = NOBODY
    place: int = 0
    hash: bytes = b""


def link(previous: bytes, row: Row) -> bytes:
    """The hash of an event: of every column, in a form in which no two rows are the same, and of the hash before it.

    Raises:
        UnicodeEncodeError: A text holds what cannot be stored either.
    """
    parts = [_MARK, previous, row.writer, struct.pack(">QQd", row.seq, row.place, row.at)]
    for text in (row.kind, row.principal, row.session_id, row.root_id, row.record):
        written = b"" if text is None else text.encode()
        parts += ((_ABSENT if text is None else len(written)).to_bytes(4, "big"), written)
    return hashlib.sha256(b"".join(parts)).digest()


class Trail:
    """The chain of one handle: what its last link is, whatever was rolled back meanwhile; and what must never stand in it."""

    def __init__(self, unmentionable: Sequence[str] = ()) -> None:
        self.redaction = Redaction(secrets=unmentionable)
        self.unsealed = 0
        """How many events this handle has chained since that was last set to 0; those rolled back count too."""
        self._writer = secrets.token_bytes(WRITER_BYTES)
        self._heads: deque[Head] = deque(maxlen=_KEPT)

    def extend(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> list[Row]:
        """The rows with their places and hashes. Inside the transaction that will insert them."""
        head = self._last(connection)
        chained: list[Row] = []
        for row in rows:
            own = row._replace(writer=self._writer, place=head.place + 1)
            head = Head(seq=own.seq, place=own.place, hash=link(head.hash, own))
            chained.append(own._replace(hash=head.hash))
        self._heads.append(head)
        self.unsealed += len(rows)
        return chained

    def _last(self, connection: sqlite3.Connection) -> Head:
        """The newest link that is in the database. What is not was rolled back, or has been retired with its segment."""
        while self._heads:
            found = connection.execute("SELECT hash FROM audit WHERE seq = ?", (self._heads[-1].seq,)).fetchone()
            if found is not None and found[0] == self._heads[-1].hash:
                return self._heads[-1]
            self._heads.pop()
        self._writer = secrets.token_bytes(WRITER_BYTES)
        return Head(seq=0, place=0, hash=GENESIS)
