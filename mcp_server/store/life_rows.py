"""What has become of runs over time: the steps they took, what they used up, who is to be stopped, which trees may go.

The methods of the store, and the rows behind them: the table `changes`, and the columns of `runs` that are sums. Each function runs inside
its caller's transaction.
"""

import sqlite3
from collections.abc import Sequence

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import Change, RunId, RunRecord, RunState
from mcp_server.store.connection import Database
from mcp_server.store.protocol import LONGEST_LEASE, Kept
from mcp_server.store.rows import every, first, listed
from mcp_server.store.spent import Spent

_BELOW = """
    WITH RECURSIVE down (id) AS (
        SELECT :id UNION SELECT s.id FROM sessions s JOIN down ON s.parent_id = down.id
    )"""

_HERE = "(:workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces)))"


class SqliteLives:
    """The part of the SQLite store that tells of runs over time."""

    _db: Database

    async def request_cancel_below(self, session_id: SessionId, by: str) -> tuple[RunId, ...]:
        return await self._db.write(cancel_below, session_id, by)

    async def runs_to_cancel(self, workspaces: Sequence[str] | None = None) -> tuple[RunId, ...]:
        return await self._db.read(to_cancel, workspaces)

    async def unheld_runs(self, workspaces: Sequence[str] | None = None, *, now: float) -> tuple[RunId, ...]:
        return await self._db.read(unheld, workspaces, now)

    async def over(self, ids: Sequence[str]) -> frozenset[str]:
        return await self._db.read(over, ids)

    async def changes(self, session_id: SessionId) -> tuple[Change, ...]:
        return await self._db.read(changes, session_id)

    async def spent(self, *, session_id: SessionId | None = None, root_id: SessionId | None = None) -> Spent:
        return await self._db.read(spent, session_id=session_id, root_id=root_id)

    async def silent_trees(self, *, before: float) -> tuple[Kept, ...]:
        return await self._db.read(silent_trees, before)

    async def forget_tree(self, root_id: SessionId) -> tuple[SessionId, ...]:
        return await self._db.write(forget, root_id)

    async def used_bytes(self) -> int:
        return await self._db.read(used_bytes)


def note(connection: sqlite3.Connection, run: RunRecord, at: float) -> None:
    """The run's state and reason, where they are not what was noted last."""
    row = connection.execute("SELECT seq, state, reason FROM changes WHERE run_id = ? ORDER BY seq DESC LIMIT 1", (run.id,)).fetchone()
    seq, *before = row or (0, "", "")
    if before != [run.state.value, run.reason]:
        connection.execute(
            "INSERT INTO changes (run_id, seq, at, state, reason) VALUES (?, ?, ?, ?, ?)",
            (run.id, seq + 1, at, run.state.value, _printable(run.reason)),
        )


def _printable(text: str) -> str:
    """A reason may hold a lone surrogate, which a column cannot."""
    return text.encode(errors="replace").decode()


def changes(connection: sqlite3.Connection, session_id: str) -> tuple[Change, ...]:
    """Of every run of the session, oldest first."""
    rows = every(
        connection,
        "SELECT c.run_id, c.at, c.state, c.reason FROM changes c JOIN runs r ON r.id = c.run_id WHERE r.session_id = :id "
        "ORDER BY r.created_at, r.rowid, c.seq",
        {"id": session_id},
    )
    return tuple(Change(run_id=RunId(row[0]), at=row[1], state=RunState(row[2]), reason=row[3]) for row in rows)


def count(connection: sqlite3.Connection, run: RunRecord) -> None:
    """Bring the columns that are summed up to what the record says."""
    connection.execute(
        "UPDATE runs SET tokens = :tokens, cost = :cost, steps = :steps, seconds = :seconds WHERE id = :id",
        {
            "id": run.id,
            "tokens": run.usage.input_tokens + run.usage.output_tokens,
            "cost": run.usage.cost or 0.0,
            "steps": run.usage.turns,
            "seconds": run.worked,
        },
    )


def spent(connection: sqlite3.Connection, *, session_id: str | None, root_id: str | None) -> Spent:
    """Summed over a session's runs, or over a tree's."""
    where = "root_id = :root" if session_id is None else "session_id = :session"
    given = {"session": session_id, "root": root_id}
    sums = ", ".join(f"coalesce(sum({column}), 0)" for column in ("tokens", "cost", "steps", "seconds"))
    tokens, cost, steps, seconds = every(connection, f"SELECT {sums} FROM runs WHERE {where}", given)[0]  # noqa: S608 - constants
    asked = f"SELECT count(*) FROM prompts WHERE {where} AND json_extract(record, '$.subject.kind') IS NOT 'budget'"  # noqa: S608 - constants
    return Spent(tokens=tokens, cost=cost, steps=steps, seconds=seconds, prompts=every(connection, asked, given)[0][0])


def cancel_below(connection: sqlite3.Connection, session_id: str, by: str) -> tuple[RunId, ...]:
    """Ask every unfinished run of a session and of all below it to end. The first to ask is noted."""
    connection.execute(
        f"{_BELOW} UPDATE runs SET cancel_requested = coalesce(cancel_requested, :by) "  # noqa: S608 - constants
        "WHERE final = 0 AND session_id IN (SELECT id FROM down)",
        {"id": session_id, "by": by},
    )
    found = every(
        connection,
        f"{_BELOW} SELECT id FROM runs WHERE final = 0 AND session_id IN (SELECT id FROM down) ORDER BY created_at, rowid",  # noqa: S608 - constants
        {"id": session_id},
    )
    return tuple(RunId(row[0]) for row in found)


def to_cancel(connection: sqlite3.Connection, workspaces: Sequence[str] | None) -> tuple[RunId, ...]:
    """Unfinished runs that somebody asked to end."""
    rows = every(
        connection,
        f"SELECT id FROM runs WHERE final = 0 AND cancel_requested IS NOT NULL AND {_HERE}",  # noqa: S608 - constants
        {"workspaces": listed(workspaces)},
    )
    return tuple(RunId(row[0]) for row in rows)


def unheld(connection: sqlite3.Connection, workspaces: Sequence[str] | None, now: float) -> tuple[RunId, ...]:
    """Unfinished runs that no process holds now, oldest first."""
    rows = every(
        connection,
        f"SELECT id FROM runs WHERE final = 0 AND (lease_until IS NULL OR lease_until <= :now OR lease_until > :latest) AND {_HERE} "  # noqa: S608 - constants
        "ORDER BY created_at, rowid",
        {"workspaces": listed(workspaces), "now": now, "latest": now + LONGEST_LEASE},
    )
    return tuple(RunId(row[0]) for row in rows)


def over(connection: sqlite3.Connection, ids: Sequence[str]) -> frozenset[str]:
    """Those of the runs and prompts that are over: a run that has ended, a prompt that is open no more, what is not there at all."""
    rows = every(
        connection,
        "SELECT value FROM json_each(:ids) WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = value AND final = 0) "
        "AND NOT EXISTS (SELECT 1 FROM prompts WHERE id = value AND state = 'open')",
        {"ids": listed(ids)},
    )
    return frozenset(row[0] for row in rows)


# ---- retention ----------------------------------------------------------------------------------


def silent_trees(connection: sqlite3.Connection, before: float) -> tuple[Kept, ...]:
    """Trees in which nothing is unfinished or open and of which nothing was heard since; longest silent first."""
    rows = every(
        connection,
        "SELECT s.id, max(s.created_at, coalesce((SELECT max(a.at) FROM audit a WHERE a.root_id = s.id), 0)) AS heard "
        "FROM sessions s WHERE s.parent_id IS NULL AND heard < :before "
        "AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.root_id = s.id AND r.final = 0) "
        "AND NOT EXISTS (SELECT 1 FROM promised c WHERE c.root_id = s.id AND c.final = 0) "
        "AND NOT EXISTS (SELECT 1 FROM prompts p WHERE p.root_id = s.id AND p.state = 'open') ORDER BY heard",
        {"before": before},
    )
    return tuple(Kept(root_id=SessionId(row[0]), heard_at=row[1]) for row in rows)


def forget(connection: sqlite3.Connection, root_id: str) -> tuple[SessionId, ...]:
    """Take a whole tree out, but for its audit. Nothing, and none, where something of it goes on after all."""
    busy = (
        "SELECT 1 FROM runs WHERE root_id = :id AND final = 0 UNION SELECT 1 FROM promised WHERE root_id = :id AND final = 0 "
        "UNION SELECT 1 FROM prompts WHERE root_id = :id AND state = 'open'"
    )
    if first(connection, busy, {"id": root_id}) is not None:
        return ()
    gone = tuple(SessionId(row[0]) for row in every(connection, "SELECT id FROM sessions WHERE root_id = :id", {"id": root_id}))
    connection.execute("PRAGMA defer_foreign_keys = ON")
    connection.execute("DELETE FROM promised WHERE root_id = :id", {"id": root_id})
    for table in ("entries", "session_state", "prompts", "rulings"):
        connection.execute(f"DELETE FROM {table} WHERE session_id IN (SELECT id FROM sessions WHERE root_id = :id)", {"id": root_id})  # noqa: S608 - constants
    connection.execute("DELETE FROM changes WHERE run_id IN (SELECT id FROM runs WHERE root_id = :id)", {"id": root_id})
    connection.execute("DELETE FROM runs WHERE root_id = :id", {"id": root_id})
    connection.execute("DELETE FROM sessions WHERE root_id = :id", {"id": root_id})
    return gone


def used_bytes(connection: sqlite3.Connection) -> int:
    """Of the file, pages that are free again left out."""
    size, pages, free = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count"))
    return size * (pages - free)
