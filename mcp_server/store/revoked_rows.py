"""The table `revoked`: the methods of the store, and the rows behind them."""

import json
import sqlite3
from collections.abc import Sequence

from mcp_server.records import AuditEvent
from mcp_server.store import audit_rows
from mcp_server.store.chain import Trail
from mcp_server.store.connection import Database
from mcp_server.store.revoked import Revoked
from mcp_server.store.rows import every, first


class SqliteRevocations:
    """The part of the SQLite store that keeps since when nothing of somebody's counts."""

    _db: Database
    _trail: Trail

    async def revoke_all_of(self, name: str, *, at: float, events: Sequence[AuditEvent] = ()) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO revoked (name, at) VALUES (?, ?)", (name, at))
            audit_rows.append(connection, events, self._trail)

        await self._db.write(work)

    async def revoked_at(self, names: Sequence[str]) -> float | None:
        return await self._db.read(_latest, names)

    async def revoked_after(self, seq: int) -> tuple[Revoked, ...]:
        return await self._db.read(_after, seq)


def _latest(connection: sqlite3.Connection, names: Sequence[str]) -> float | None:
    row = first(
        connection, "SELECT max(at) FROM revoked WHERE name IN (SELECT value FROM json_each(:names))", {"names": json.dumps(list(names))}
    )
    return None if row is None else row[0]


def _after(connection: sqlite3.Connection, seq: int) -> tuple[Revoked, ...]:
    rows = every(connection, "SELECT seq, name, at FROM revoked WHERE seq > :seq ORDER BY seq", {"seq": seq})
    return tuple(Revoked(seq=row[0], name=row[1], at=row[2]) for row in rows)
