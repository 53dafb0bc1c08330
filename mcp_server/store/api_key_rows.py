"""The tables `api_keys` and `api_key_secrets`: the methods of the store, and the rows behind them."""

import json
import sqlite3
from collections.abc import Sequence

from mcp_server.records import AuditEvent
from mcp_server.store import audit_rows
from mcp_server.store.api_keys import ApiKey, HeldKey
from mcp_server.store.chain import Trail
from mcp_server.store.connection import Database
from mcp_server.store.rows import every, first

_COLUMNS = "id, name, scopes, api_keys.created_at, expires_at, revoked_at, used_at"


class SqliteApiKeys:
    """The part of the SQLite store that keeps keys."""

    _db: Database
    _trail: Trail

    async def add_api_key(self, key: ApiKey, digest: str, events: Sequence[AuditEvent] = ()) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO api_keys (id, name, scopes, created_at, expires_at, revoked_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key.id, key.name, json.dumps(key.scopes), key.created_at, key.expires_at, key.revoked_at, key.used_at),
            )
            _add_secret(connection, key.id, digest, key.created_at)
            audit_rows.append(connection, events, self._trail)

        await self._db.write(work)

    async def api_keys(self) -> tuple[ApiKey, ...]:
        return await self._db.read(_every)

    async def held_api_key(self, digest: str) -> HeldKey | None:
        return await self._db.read(_held, digest)

    async def rotate_api_key(
        self, key_id: str, digest: str, *, now: float, old_until: float, expires_at: float | None, events: Sequence[AuditEvent] = ()
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            old = first(connection, "SELECT expires_at FROM api_keys WHERE id = :id AND revoked_at IS NULL", {"id": key_id})
            if old is None:
                return False
            end = old_until if old[0] is None else min(old_until, old[0])
            connection.execute(
                "UPDATE api_key_secrets SET until = min(coalesce(until, :end), :end) WHERE key_id = :id", {"end": end, "id": key_id}
            )
            connection.execute("UPDATE api_keys SET expires_at = :end WHERE id = :id", {"end": expires_at, "id": key_id})
            _add_secret(connection, key_id, digest, now)
            audit_rows.append(connection, events, self._trail)
            return True

        return await self._db.write(work)

    async def revoke_api_key(self, key_id: str, *, now: float, events: Sequence[AuditEvent] = ()) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            changed = connection.execute("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, key_id)).rowcount
            if changed:
                audit_rows.append(connection, events, self._trail)
            return changed > 0

        return await self._db.write(work)

    async def use_api_key(self, key_id: str, *, now: float) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE api_keys SET used_at = ? WHERE id = ?", (now, key_id))

        await self._db.write_unsynced(work)


def _add_secret(connection: sqlite3.Connection, key_id: str, digest: str, now: float) -> None:
    connection.execute("INSERT INTO api_key_secrets (digest, key_id, created_at) VALUES (?, ?, ?)", (digest, key_id, now))


def _every(connection: sqlite3.Connection) -> tuple[ApiKey, ...]:
    return tuple(_key(row) for row in every(connection, f"SELECT {_COLUMNS} FROM api_keys ORDER BY created_at, rowid", {}))  # noqa: S608 - constants


def _held(connection: sqlite3.Connection, digest: str) -> HeldKey | None:
    query = f"SELECT {_COLUMNS}, until FROM api_key_secrets JOIN api_keys ON api_keys.id = key_id WHERE digest = :digest"  # noqa: S608 - constants
    row = first(connection, query, {"digest": digest})
    return None if row is None else HeldKey(key=_key(row[:7]), until=row[7])


def _key(row: Sequence[object]) -> ApiKey:
    id_, name, scopes, created_at, expires_at, revoked_at, used_at = row
    return ApiKey(
        id=str(id_),
        name=str(name),
        scopes=tuple(json.loads(str(scopes))),
        created_at=_time(created_at) or 0.0,
        expires_at=_time(expires_at),
        revoked_at=_time(revoked_at),
        used_at=_time(used_at),
    )


def _time(said: object) -> float | None:
    return said if isinstance(said, float) else None
