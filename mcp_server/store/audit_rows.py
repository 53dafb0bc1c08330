"""The table `audit`: append-only and numbered without gaps, which its triggers hold. Each function runs inside the caller's transaction."""

import sqlite3
from collections.abc import Sequence

from mcp_server.records import AuditEvent
from mcp_server.store.codec import AUDIT
from mcp_server.store.protocol import StoredAudit
from mcp_server.store.rows import every


def append(connection: sqlite3.Connection, events: Sequence[AuditEvent]) -> None:
    """Number and write them in order. The root is noted as it is now: a session that moves later leaves its past where it happened."""
    if not events:
        return
    seq: int = connection.execute("SELECT coalesce(max(seq), 0) FROM audit").fetchone()[0]
    connection.executemany(
        "INSERT INTO audit (seq, at, kind, principal, session_id, root_id, record) "
        "VALUES (:seq, :at, :kind, :principal, :session, (SELECT root_id FROM sessions WHERE id = :session), :record)",
        [
            {
                "seq": seq + place,
                "at": event.at,
                "kind": event.kind,
                "principal": event.principal,
                "session": event.session_id,
                "record": AUDIT.dump(event),
            }
            for place, event in enumerate(events, start=1)
        ],
    )


def newest(
    connection: sqlite3.Connection, *, principal: str | None, root_id: str | None, session_id: str | None, limit: int
) -> tuple[StoredAudit, ...]:
    """The newest `limit`, oldest of them first."""
    conditions = " AND ".join(
        ["1", *(f"{column} = :{column}" for column, value in _given(principal, root_id, session_id) if value is not None)]
    )
    rows = every(
        connection,
        f"SELECT seq, record FROM audit WHERE {conditions} ORDER BY seq DESC LIMIT :limit",  # noqa: S608 - column names of our own
        {"principal": principal, "root_id": root_id, "session_id": session_id, "limit": max(limit, 0)},
    )
    return tuple(StoredAudit(seq=row[0], event=AUDIT.load(row[1], row[0])) for row in reversed(rows))


def _given(principal: str | None, root_id: str | None, session_id: str | None) -> tuple[tuple[str, str | None], ...]:
    return ("principal", principal), ("root_id", root_id), ("session_id", session_id)
