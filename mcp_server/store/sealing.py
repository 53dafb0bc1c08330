"""Making checkpoints and retiring old segments. Each function runs inside a transaction, whose lock keeps other processes out."""

import hashlib
import sqlite3
from typing import NamedTuple

from mcp_server.store.audit_rows import newest_seq, rows_between
from mcp_server.store.chain import GENESIS, Row, link
from mcp_server.store.seals import FIRST, NotASeal, Seal, SealFile, read_seal, signed

LONGEST = 5000
"""Events in one segment: a fraction of a second with the lock held, be it the first checkpoint of an old store."""


class State(NamedTuple):
    """The one row of the table `trail`."""

    store: str
    unchained: int
    """Up to which event there was no chain."""
    sealed: int
    """The number of the newest checkpoint, which is on the disk or about to be."""
    retired: int
    """Up to which event retention has removed them."""


def state(connection: sqlite3.Connection) -> State:
    """As it is in this transaction."""
    return State._make(connection.execute("SELECT store, unchained, sealed, retired FROM trail").fetchone())


def hash_of(row: Row) -> bytes:
    """The hash that a checkpoint covers: the stored one, or that of an event from before the chain."""
    return row.hash or link(GENESIS, row)


def announce(connection: sqlite3.Connection, file: SealFile) -> int | None:
    """Note the number of the checkpoint that comes next; None: nothing is unsealed.

    A write of its own: when it is on the disk, so is every event before it, also those written without a flush.
    """
    last = file.last()
    if newest_seq(connection) <= (last.last if last else 0):
        return None
    number = last.number + 1 if last else 1
    connection.execute("UPDATE trail SET sealed = ?", (number,))
    return newest_seq(connection)


def seal(connection: sqlite3.Connection, file: SealFile, upto: int, at: float) -> bool:
    """Sign the events that are not signed yet, up to that number at most. Whether any is left.

    Raises:
        StoreError: The key or the last checkpoint is not as it should be.
        OSError: The file cannot be written.
    """
    last = file.last()
    first = last.last + 1 if last else 1
    upto_here = min(upto, first + LONGEST - 1)
    if first > upto_here:
        return False
    key = file.key_or_new()
    here = state(connection)
    digest, heads, newest = hashlib.sha256(), dict[str, tuple[int, str]](), 0.0
    for row in rows_between(connection, first, upto_here):
        digest.update(hash_of(row))
        newest = max(newest, row.at)
        if row.hash:
            heads[row.writer.hex()] = (row.place, row.hash.hex())
    made = Seal(
        number=last.number + 1 if last else 1,
        store=here.store,
        at=at,
        newest=newest,
        first=first,
        last=upto_here,
        unchained=here.unchained,
        retired=last.retired if last else 0,
        digest=digest.hexdigest(),
        heads=heads,
        previous=last.signature if last else FIRST,
    )
    file.append(signed(made, key))
    return upto_here < upto


def retirable(file: SealFile, before: float) -> list[int]:
    """The last events of the oldest whole segments of which all is older."""
    found: list[int] = []
    for line in file.lines():
        try:
            one = read_seal(line)
        except NotASeal:
            break
        if one.first <= one.last:
            if one.newest >= before:
                break
            found.append(one.last)
    return found


def promise_to_retire(connection: sqlite3.Connection, file: SealFile, upto: int, at: float) -> None:
    """Sign that the events up to that number are removed on purpose. Before they are: what is signed and still there does no harm."""
    last = file.last()
    if last is None or last.retired >= upto:
        return
    here = state(connection)
    made = Seal(
        number=last.number + 1,
        store=here.store,
        at=at,
        first=last.last + 1,
        last=last.last,
        unchained=here.unchained,
        retired=upto,
        previous=last.signature,
    )
    file.append(signed(made, file.key_or_new()))


def retire(connection: sqlite3.Connection, upto: int) -> int:
    """Remove the events up to that number, the end of a segment. Returns how many."""
    connection.execute("UPDATE trail SET retired = max(retired, ?)", (upto,))
    return connection.execute("DELETE FROM audit WHERE seq <= ?", (upto,)).rowcount
