"""Looking at the whole audit: is every event there, as it was written, in its place, and as the checkpoints have it?

Reads one event at a time, so memory does not grow with the audit.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence

from mcp_server.store.audit_rows import rows_between
from mcp_server.store.chain import GENESIS, Row, link
from mcp_server.store.proof import Finding, Proof
from mcp_server.store.seal_reading import Reading, doubtful
from mcp_server.store.sealing import State, hash_of, state
from mcp_server.store.seals import Seal

__all__ = ["Findings", "Follower", "Reading", "doubtful", "verify"]

MOST = 100
"""Findings told one by one; a rewritten store would have as many as events."""

_EVERY = 2**62


class Findings:
    """Those told, and a count of the rest."""

    def __init__(self, before: Iterable[Finding] = ()) -> None:
        self.told = list(before)
        self.left_out = 0

    def add(self, where: str, problem: str) -> None:
        if len(self.told) < MOST:
            self.told.append(Finding(where=where, problem=problem))
        else:
            self.left_out += 1


class Follower:
    """Follows the events in their order, the chains and the segments that they belong to."""

    def __init__(self, here: State, seals: Sequence[Seal], findings: Findings) -> None:
        self.count = self.unchained = 0
        self.writers: set[bytes] = set()
        self._findings = findings
        self._chain_begins = here.unchained
        self._heads: dict[bytes, tuple[int, bytes]] = {}
        self._seals = [seal for seal in seals if seal.first <= seal.last]
        self._next = 0
        self._digest = hashlib.sha256()
        self._seq = here.retired
        while self._next < len(self._seals) and self._seals[self._next].last <= here.retired:
            self._take_heads(self._seals[self._next])
            self._next += 1

    def read(self, row: Row) -> None:
        """The next event."""
        self._number(row)
        if row.hash:
            self._follow(row)
        else:
            self.unchained += 1
            if row.seq > self._chain_begins:
                self._findings.add(f"event {row.seq}", "it is outside the chain, though the chain had begun")
        self.count += 1
        self._seq = row.seq
        if self._next < len(self._seals):
            self._measure(row)

    def end(self) -> int:
        """No further event. Returns the last one's number."""
        for seal in self._seals[self._next :]:
            self._findings.add(
                _span(max(seal.first, self._seq + 1), seal.last), f"missing: checkpoint {seal.number} holds them, the store ends before"
            )
        return self._seq

    def _number(self, row: Row) -> None:
        if row.seq != self._seq + 1:
            self._findings.add(_span(self._seq + 1, row.seq - 1), "missing")

    def _follow(self, row: Row) -> None:
        place, before = self._heads.get(row.writer, (0, GENESIS))
        if row.place != place + 1:
            self._findings.add(
                f"event {row.seq}", f"it is number {row.place} of the writer {row.writer.hex()}, whose number {place + 1} is expected here"
            )
        if link(before, row) != row.hash:
            self._findings.add(f"event {row.seq}", "it was changed, or does not follow the one before it of the same writer")
        self._heads[row.writer] = (row.place, row.hash)
        self.writers.add(row.writer)

    def _measure(self, row: Row) -> None:
        """Add it to its segment; at the end of a segment, compare."""
        seal = self._seals[self._next]
        if row.seq <= seal.last:
            self._digest.update(hash_of(row))
        if row.seq < seal.last:
            return
        if self._digest.hexdigest() != seal.digest:
            self._findings.add(_span(seal.first, seal.last), f"they are not the events that checkpoint {seal.number} was made of")
        self._digest = hashlib.sha256()
        self._next += 1

    def _take_heads(self, seal: Seal) -> None:
        for writer, (place, last) in seal.heads.items():
            self._heads[bytes.fromhex(writer)] = (place, bytes.fromhex(last))


def verify(connection: sqlite3.Connection, reading: Reading, sealed: int) -> Proof:
    """Compare every event with its chain and its checkpoint, inside one transaction.

    Args:
        connection: The store.
        reading: The checkpoints, read before this transaction began.
        sealed: The number of checkpoints that the store told of before they were read.
    """
    findings, here, seals = Findings(reading.findings), state(connection), reading.seals
    _compare(here, seals, findings, sealed)
    reader = Follower(here, seals, findings)
    for row in rows_between(connection, 0, _EVERY):
        reader.read(row)
    newest = reader.end()
    sealed_to = seals[-1].last if seals else 0
    return Proof(
        events=reader.count,
        unchained=reader.unchained,
        retired=here.retired,
        writers=len(reader.writers),
        checkpoints=len(seals),
        sealed_to=sealed_to,
        unsealed=max(0, newest - max(sealed_to, here.retired)),
        newest=seals[-1].signature if seals else "",
        findings=tuple(findings.told),
        left_out=findings.left_out,
        notes=reading.notes,
    )


def _compare(here: State, seals: Sequence[Seal], findings: Findings, sealed: int) -> None:
    """The checkpoints and what the database says of itself."""
    if any(seal.store != here.store for seal in seals):
        other = next(seal for seal in seals if seal.store != here.store)
        findings.add("the database", f"it is not the one that checkpoint {other.number} was made of: another stands in its place")
    if len(seals) < sealed - 1:
        findings.add("the checkpoints", f"the store tells of {sealed}, but {len(seals)} are there: newer ones were removed")
    if seals and any(seal.unchained != here.unchained for seal in seals):
        findings.add("the database", f"it says that the chain begins after event {here.unchained}; the checkpoints say otherwise")
    ends = {seal.last for seal in seals if seal.last <= seals[-1].retired} | {0}
    if here.retired not in ends:
        findings.add(_span(1, here.retired), "they were removed, but no checkpoint says that retention did so")


def _span(first: int, last: int) -> str:
    return f"event {first}" if first >= last else f"events {first} to {last}"
