"""The table `people`: the methods of the store, and the rows behind them."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from mcp_server.store.connection import Database
from mcp_server.store.rows import first


class SqlitePeople:
    """The part of the SQLite store that keeps claims."""

    _db: Database

    async def keep_claims(self, principal: str, claims: Mapping[str, Any], *, issued_at: float) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                """INSERT INTO people (principal, claims, issued_at) VALUES (:principal, :claims, :at)
                ON CONFLICT (principal) DO UPDATE SET claims = :claims, issued_at = :at WHERE issued_at <= :at""",
                {"principal": principal, "claims": json.dumps(dict(claims), sort_keys=True), "at": issued_at},
            )

        await self._db.write(work)

    async def claims(self, principal: str) -> Mapping[str, Any]:
        return await self._db.read(_claims, principal)

    async def everybodys_claims(self) -> Mapping[str, Mapping[str, Any]]:
        return await self._db.read(_everybodys)


def _claims(connection: sqlite3.Connection, principal: str) -> dict[str, Any]:
    row = first(connection, "SELECT claims FROM people WHERE principal = :principal", {"principal": principal})
    return {} if row is None else json.loads(row[0])


def _everybodys(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    return {principal: json.loads(claims) for principal, claims in connection.execute("SELECT principal, claims FROM people")}
