"""The table `credentials`: the methods of the store, and the rows behind them."""

import sqlite3

from mcp_server.store.connection import Database
from mcp_server.store.credentials import KeptCredential
from mcp_server.store.rows import every, first


class SqliteCredentials:
    """The part of the SQLite store that keeps credentials."""

    _db: Database

    async def keep_credential(self, principal: str, server: str, sealed: bytes, *, now: float) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                """INSERT INTO credentials (principal, server, sealed, kept_at) VALUES (:principal, :server, :sealed, :now)
                ON CONFLICT (principal, server) DO UPDATE SET sealed = :sealed, kept_at = :now""",
                {"principal": principal, "server": server, "sealed": sealed, "now": now},
            )

        await self._db.write(work)

    async def credential(self, principal: str, server: str) -> bytes | None:
        return await self._db.read(_sealed, principal, server)

    async def kept_credentials(self, principal: str) -> tuple[KeptCredential, ...]:
        return await self._db.read(_kept, principal)

    async def forget_credential(self, principal: str, server: str) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute("DELETE FROM credentials WHERE principal = ? AND server = ?", (principal, server)).rowcount > 0

        return await self._db.write(work)


def _sealed(connection: sqlite3.Connection, principal: str, server: str) -> bytes | None:
    query = "SELECT sealed FROM credentials WHERE principal = :principal AND server = :server"
    row = first(connection, query, {"principal": principal, "server": server})
    return None if row is None else bytes(row[0])


def _kept(connection: sqlite3.Connection, principal: str) -> tuple[KeptCredential, ...]:
    query = "SELECT server, kept_at FROM credentials WHERE principal = :principal ORDER BY server"
    return tuple(KeptCredential(server=server, kept_at=kept_at) for server, kept_at in every(connection, query, {"principal": principal}))
