"""The tables `runs` and `entries`: runs, who advances them, and their transcript. Each function runs inside the caller's transaction.

The columns `root_id`, `owner`, `lease_until`, `fence` and `cancel_requested` are the truth, whatever the record beside them says.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from mcp_server.errors import LeaseLost, StoreError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import FINAL, Entry, RunId, RunRecord, StoredEntry
from mcp_server.store import life_rows
from mcp_server.store.codec import ENTRY, RUN
from mcp_server.store.protocol import LONGEST_LEASE, Lease
from mcp_server.store.rows import every, first, listed

_SELECT = "SELECT id, record, root_id, owner, lease_until, fence, cancel_requested FROM runs"


def _record(row: sqlite3.Row) -> RunRecord:
    key, text, root_id, owner, lease_until, fence, cancel_requested = row
    return replace(
        RUN.load(text, key), root_id=root_id, owner=owner, lease_until=lease_until, fence=fence, cancel_requested=cancel_requested
    )


def add(connection: sqlite3.Connection, run: RunRecord, entries: Sequence[Entry]) -> None:
    """A new one with its first entries."""
    connection.execute(
        "INSERT INTO runs (id, session_id, root_id, principal, workspace, created_at, final, owner, lease_until, fence, "
        "cancel_requested, record) VALUES (:id, :session, :root, :principal, :workspace, :created, :final, :owner, :until, :fence, "
        ":cancel, :record)",
        {
            "id": run.id,
            "session": run.session_id,
            "root": run.root_id,
            "principal": run.principal,
            "workspace": run.workspace,
            "created": run.created_at,
            "final": run.state in FINAL,
            "owner": run.owner,
            "until": run.lease_until,
            "fence": run.fence,
            "cancel": run.cancel_requested,
            "record": RUN.dump(run),
        },
    )
    life_rows.note(connection, run, run.updated_at)
    life_rows.count(connection, run)
    _append(connection, run, entries, run.updated_at)


def goes_on(connection: sqlite3.Connection, session_id: str) -> bool:
    """Has one of the session's runs not ended?"""
    query = "SELECT 1 FROM runs WHERE session_id = :session AND final = 0 LIMIT 1"
    return first(connection, query, {"session": session_id}) is not None


def busy_children(connection: sqlite3.Connection, session_id: str) -> int:
    """How many of the session's children have a run that has not ended."""
    query = (
        "SELECT count(DISTINCT child.id) FROM runs CROSS JOIN sessions AS child ON child.id = runs.session_id "
        "WHERE runs.final = 0 AND child.parent_id = :id"
    )
    found = first(connection, query, {"id": session_id})
    return 0 if found is None else found[0]


def get(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    """The run."""
    row = first(connection, f"{_SELECT} WHERE id = :id", {"id": run_id})
    return None if row is None else _record(row)


def latest(connection: sqlite3.Connection, session_id: str) -> RunRecord | None:
    """The session's newest."""
    row = first(connection, f"{_SELECT} WHERE session_id = :id ORDER BY created_at DESC, rowid DESC LIMIT 1", {"id": session_id})
    return None if row is None else _record(row)


def unfinished(connection: sqlite3.Connection, *, workspaces: Sequence[str] | None, root_id: str | None) -> tuple[RunRecord, ...]:
    """Oldest first."""
    rows = every(
        connection,
        f"{_SELECT} WHERE final = 0 AND (:workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces))) "  # noqa: S608 - constants
        "AND (:root IS NULL OR root_id = :root) ORDER BY created_at, rowid",
        {"workspaces": listed(workspaces), "root": root_id},
    )
    return tuple(_record(row) for row in rows)


def claim(connection: sqlite3.Connection, run_id: RunId, owner: str, now: float, seconds: float) -> Lease | None:
    """See `Store.claim`. A lease lapses at the very second it names. One that ends later than any can is a clock's that was set back."""
    row = first(connection, "SELECT owner, lease_until, fence FROM runs WHERE id = :id AND final = 0", {"id": run_id})
    if row is None:
        return None
    holder, until, fence = row
    if holder not in (None, owner) and until is not None and now < until <= now + LONGEST_LEASE:
        return None
    if holder != owner:
        fence += 1
    connection.execute(
        "UPDATE runs SET owner = :owner, lease_until = :until, fence = :fence WHERE id = :id",
        {"id": run_id, "owner": owner, "until": now + seconds, "fence": fence},
    )
    return Lease(run_id=run_id, owner=owner, fence=fence)


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Only where it is still held."""
    connection.execute(
        "UPDATE runs SET owner = NULL, lease_until = NULL WHERE id = :id AND owner = :owner AND fence = :fence",
        {"id": lease.run_id, "owner": lease.owner, "fence": lease.fence},
    )


def check_held(connection: sqlite3.Connection, lease: Lease) -> int:
    """Is the run held with that very fence? Returns whether it has ended.

    Raises:
        LeaseLost: It is not.
    """
    row = first(
        connection,
        "SELECT final FROM runs WHERE id = :id AND owner = :owner AND fence = :fence",
        {"id": lease.run_id, "owner": lease.owner, "fence": lease.fence},
    )
    if row is None:
        raise LeaseLost(f"run {lease.run_id} is another process's now; nothing was written")
    return row[0]


def check_lease(connection: sqlite3.Connection, run: RunRecord, lease: Lease) -> None:
    """Raises `LeaseLost` unless the run is still held with that very fence, `StoreError` where `run` would wake one that has ended."""
    if lease.run_id != run.id:
        raise LeaseLost(f"run {run.id} is another process's now; nothing was written")
    if check_held(connection, lease) and run.state not in FINAL:
        raise StoreError(f"run {run.id} has ended and cannot be {run.state} again; nothing was written")


def save(connection: sqlite3.Connection, run: RunRecord, entries: Sequence[Entry], now: float) -> None:
    """State and new entries. The lease is checked before."""
    connection.execute(
        "UPDATE runs SET final = :final, record = :record WHERE id = :id",
        {"id": run.id, "final": run.state in FINAL, "record": RUN.dump(run)},
    )
    life_rows.note(connection, run, now)
    life_rows.count(connection, run)
    _append(connection, run, entries, now)


def request_cancel(connection: sqlite3.Connection, run_id: str, by: str) -> None:
    """The first to ask is noted; a run that has ended stays as it is."""
    connection.execute(
        "UPDATE runs SET cancel_requested = :by WHERE id = :id AND final = 0 AND cancel_requested IS NULL", {"id": run_id, "by": by}
    )


def transcript(connection: sqlite3.Connection, session_id: str, after: int) -> tuple[StoredEntry, ...]:
    """All runs' entries past that `seq`, in order."""
    rows = every(
        connection,
        "SELECT seq, run_id, at, record FROM entries WHERE session_id = :id AND seq > :after ORDER BY seq",
        {"id": session_id, "after": after},
    )
    return tuple(
        StoredEntry(seq=row[0], run_id=RunId(row[1]), at=row[2], entry=ENTRY.load(row[3], f"{row[0]} of session {session_id}"))
        for row in rows
    )


def _append(connection: sqlite3.Connection, run: RunRecord, entries: Sequence[Entry], at: float) -> None:
    if not entries:
        return
    session_id: SessionId = run.session_id
    seq: int = connection.execute("SELECT coalesce(max(seq), 0) FROM entries WHERE session_id = ?", (session_id,)).fetchone()[0]
    connection.executemany(
        "INSERT INTO entries (session_id, seq, run_id, at, record) VALUES (?, ?, ?, ?, ?)",
        [(session_id, seq + place, run.id, at, ENTRY.dump(entry)) for place, entry in enumerate(entries, start=1)],
    )
