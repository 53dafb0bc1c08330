"""The tables `sessions` and `session_state`. Each function runs inside the caller's transaction."""

import sqlite3
from dataclasses import replace

from mcp_server.errors import StoreError, ToolFailure
from mcp_server.records import SessionRecord
from mcp_server.store.codec import SESSION
from mcp_server.store.faults import UnreadableRow
from mcp_server.store.protocol import ENDED_BY
from mcp_server.store.rows import every, first

DEEPEST = 64
"""No tree comes near it (the default depth is 2). A longer chain can only be a cycle in a damaged file, and an ancestor left out would be
a restriction lost, so it is refused instead."""

_CHAIN = """
    WITH RECURSIVE up (id, parent_id, record, level) AS (
        SELECT id, parent_id, record, 0 FROM sessions WHERE id = :id
        UNION ALL
        SELECT s.id, s.parent_id, s.record, up.level + 1 FROM sessions s JOIN up ON s.id = up.parent_id WHERE up.level < :deepest
    )
    SELECT id, record FROM up ORDER BY level DESC"""

_SUBTREE = """
    WITH RECURSIVE down (id) AS (
        SELECT :id UNION SELECT s.id FROM sessions s JOIN down ON s.parent_id = down.id
    )"""


def _records(rows: list[sqlite3.Row]) -> tuple[SessionRecord, ...]:
    return tuple(SESSION.load(row[1], row[0]) for row in rows)


def add(connection: sqlite3.Connection, session: SessionRecord) -> None:
    """A new one. Its root and parent must be there already, and the same principal's."""
    connection.execute(
        "INSERT INTO sessions (id, principal, workspace, root_id, parent_id, created_at, record) "
        "VALUES (:id, :principal, :workspace, :root, :parent, :created, :record)",
        {
            "id": session.id,
            "principal": session.principal,
            "workspace": session.workspace,
            "root": session.root_id,
            "parent": session.parent_id,
            "created": session.created_at,
            "record": SESSION.dump(session),
        },
    )


def get(connection: sqlite3.Connection, session_id: str, principal: str) -> SessionRecord | None:
    """That principal's session."""
    row = first(
        connection,
        "SELECT id, record FROM sessions WHERE id = :id AND principal = :principal",
        {"id": session_id, "principal": principal},
    )
    return None if row is None else SESSION.load(row[1], row[0])


def chain(connection: sqlite3.Connection, session_id: str) -> tuple[SessionRecord, ...]:
    """Root first."""
    rows = every(connection, _CHAIN, {"id": session_id, "deepest": DEEPEST})
    if len(rows) > DEEPEST:
        raise UnreadableRow(f"the ancestors of session {session_id} have no end")
    return _records(rows)


def children(connection: sqlite3.Connection, session_id: str) -> tuple[SessionRecord, ...]:
    """Oldest first."""
    return _records(
        every(connection, "SELECT id, record FROM sessions WHERE parent_id = :id ORDER BY created_at, rowid", {"id": session_id})
    )


def of_principal(
    connection: sqlite3.Connection, principal: str, *, workspace: str | None, roots: bool, limit: int
) -> tuple[SessionRecord, ...]:
    """Newest first."""
    return _records(
        every(
            connection,
            "SELECT id, record FROM sessions WHERE principal = :principal AND (:workspace IS NULL OR workspace = :workspace) "
            "AND (NOT :roots OR parent_id IS NULL) ORDER BY created_at DESC, rowid DESC LIMIT :limit",
            {"principal": principal, "workspace": workspace, "roots": roots, "limit": max(limit, 0)},
        )
    )


def principals(connection: sqlite3.Connection, beginning: str) -> tuple[str, ...]:
    """Those that begin so. From one to the next by the index, however many sessions each has."""
    after = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    found = every(
        connection,
        "WITH RECURSIVE each_one(principal) AS (SELECT min(principal) FROM sessions WHERE principal >= :beginning UNION ALL "
        "SELECT (SELECT min(principal) FROM sessions WHERE principal > each_one.principal) FROM each_one "
        "WHERE each_one.principal < :after) SELECT principal FROM each_one WHERE principal < :after",
        {"beginning": beginning, "after": after},
    )
    return tuple(row[0] for row in found)


def update(connection: sqlite3.Connection, session: SessionRecord) -> None:
    """The whole record anew. With another parent or root its descendants move along, and all that carries their root."""
    before = get(connection, session.id, session.principal)
    if before is None:
        raise StoreError(f"session {session.id} cannot be changed: it is not there, or not that principal's")
    _write(connection, session)
    if (before.root_id, before.parent_id, before.depth, before.root_agent) != (
        session.root_id,
        session.parent_id,
        session.depth,
        session.root_agent,
    ):
        _move(connection, session, session.depth - before.depth)


def _write(connection: sqlite3.Connection, session: SessionRecord) -> None:
    connection.execute(
        "UPDATE sessions SET workspace = :workspace, root_id = :root, parent_id = :parent, record = :record WHERE id = :id",
        {
            "id": session.id,
            "workspace": session.workspace,
            "root": session.root_id,
            "parent": session.parent_id,
            "record": SESSION.dump(session),
        },
    )


def _move(connection: sqlite3.Connection, top: SessionRecord, deeper: int) -> None:
    subtree = _records(
        every(connection, f"{_SUBTREE} SELECT id, record FROM sessions WHERE id IN (SELECT id FROM down)", {"id": top.id})  # noqa: S608 - a constant
    )
    if any(session.id == top.parent_id for session in subtree):
        raise StoreError(f"session {top.id} cannot become a child of its own descendant")
    for session in subtree:
        if session.id != top.id:
            _write(connection, replace(session, root_id=top.root_id, root_agent=top.root_agent, depth=session.depth + deeper))
    for table in ("runs", "prompts", "rulings"):
        connection.execute(
            f"{_SUBTREE} UPDATE {table} SET root_id = :root WHERE session_id IN (SELECT id FROM down)",  # noqa: S608 - constants
            {"id": top.id, "root": top.root_id},
        )


def state(connection: sqlite3.Connection, session_id: str, key: str) -> str | None:
    """The value; None where it was never set."""
    row = first(connection, "SELECT value FROM session_state WHERE session_id = :id AND key = :key", {"id": session_id, "key": key})
    return None if row is None else row[0]


def refuse_if_ended(connection: sqlite3.Connection, root_id: str) -> None:
    """Raises `ToolFailure` where somebody ended the root session: a call that was on its way then starts nothing more."""
    by = state(connection, root_id, ENDED_BY)
    if by is not None:
        raise ToolFailure(f"nothing was started: the session was ended by {by}")


def set_state(connection: sqlite3.Connection, session_id: str, key: str, value: str) -> None:
    """Set or replace."""
    connection.execute(
        "INSERT INTO session_state (session_id, key, value) VALUES (:id, :key, :value) "
        "ON CONFLICT (session_id, key) DO UPDATE SET value = excluded.value",
        {"id": session_id, "key": key, "value": value},
    )
