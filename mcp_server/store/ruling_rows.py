"""The table `rulings`. Each function runs inside the caller's transaction.

The columns `root_id`, `expires_at`, `used` and `revoked_at` are the truth, whatever the record beside them says.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from mcp_server.policy.values import Reach
from mcp_server.records import RulingRecord
from mcp_server.store import clock
from mcp_server.store.codec import RULING
from mcp_server.store.rows import every, first, listed

_SELECT = "SELECT id, record, root_id, used, revoked_at, expires_at FROM rulings"

_STANDS = """
    revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > :now)
    AND CASE WHEN once THEN used = 0 ELSE expires_at IS NULL OR created_at <= :now + 60 END
"""
"""A revoked one never stands again, at no time. One that ends does not stand before it was given, with a minute for clocks that differ:
a clock was set back, and nobody knows how long it has stood. What is good for one call is bound by that. A doubt closes.
"""


def _record(row: sqlite3.Row) -> RulingRecord:
    return replace(RULING.load(row[1], row[0]), root_id=row[2], used=row[3], revoked_at=row[4], expires_at=row[5])


def add(connection: sqlite3.Connection, rulings: Sequence[RulingRecord]) -> None:
    """New ones."""
    connection.executemany(
        "INSERT INTO rulings (id, principal, root_id, session_id, once, created_at, expires_at, used, revoked_at, record) "
        "VALUES (:id, :principal, :root, :session, :once, :created, :expires, :used, :revoked, :record)",
        [
            {
                "id": ruling.id,
                "principal": ruling.principal,
                "root": ruling.root_id,
                "session": ruling.ruling.session_id,
                "once": ruling.reach is Reach.ONCE,
                "created": ruling.created_at,
                "expires": ruling.expires_at,
                "used": ruling.used,
                "revoked": ruling.revoked_at,
                "record": RULING.dump(ruling),
            }
            for ruling in rulings
        ],
    )


def of_principal(
    connection: sqlite3.Connection, principal: str, *, session_ids: Sequence[str] | None, standing_at: float | None
) -> tuple[RulingRecord, ...]:
    """Oldest first."""
    rows = every(
        connection,
        f"{_SELECT} WHERE principal = :principal "  # noqa: S608 - constants
        "AND (:sessions IS NULL OR session_id IN (SELECT value FROM json_each(:sessions))) "
        f"AND (:now IS NULL OR ({_STANDS})) ORDER BY created_at, rowid",
        {"principal": principal, "sessions": listed(session_ids), "now": standing_at},
    )
    return tuple(_record(row) for row in rows)


def use(connection: sqlite3.Connection, ids: Sequence[str], now: float) -> bool:
    """Count a use of each; False, and nothing written, where one does not stand."""
    wanted = tuple(dict.fromkeys(ids))
    if wanted:
        clock.heard(connection, now)
    standing = all(
        first(connection, f"SELECT 1 FROM rulings WHERE id = :id AND {_STANDS}", {"id": ruling_id, "now": now})  # noqa: S608 - a constant
        for ruling_id in wanted
    )
    if standing:
        connection.executemany("UPDATE rulings SET used = used + 1 WHERE id = ?", [(ruling_id,) for ruling_id in wanted])
    return standing


def revoke(connection: sqlite3.Connection, ruling_id: str, principal: str, now: float) -> bool:
    """False: not there, not that principal's, or revoked already."""
    mine = {"id": ruling_id, "principal": principal}
    if first(connection, "SELECT 1 FROM rulings WHERE id = :id AND principal = :principal AND revoked_at IS NULL", mine) is None:
        return False
    connection.execute("UPDATE rulings SET revoked_at = :now WHERE id = :id", {"id": ruling_id, "now": now})
    return True
