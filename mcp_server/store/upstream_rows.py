"""The tables `upstream_pins` and `upstreams`: the methods of the store, and the rows behind them."""

import sqlite3
from collections.abc import Mapping

from mcp_server.store.connection import Database
from mcp_server.store.rows import every, first
from mcp_server.store.upstreams import Found, Pin

_PINS = "SELECT principal, server, tool, digest, definition, at FROM upstream_pins"
_PIN = "INSERT OR REPLACE INTO upstream_pins (principal, server, tool, digest, definition, at) VALUES (?, ?, ?, ?, ?, ?)"
_PIN_FIRST = _PIN.replace("REPLACE", "IGNORE")
_FOUND = "SELECT principal, server, said, at FROM upstreams"


class SqliteUpstreams:
    """The part of the SQLite store that keeps what is known of other servers."""

    _db: Database

    async def pin(self, principal: str, server: str, tool: str, pin: Pin, *, first: bool = False) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                _PIN_FIRST if first else _PIN,
                (principal, server, tool, pin.digest, pin.definition, pin.at),
            )

        await self._db.write(work)

    async def pins(self, principal: str, server: str) -> Mapping[str, Pin]:
        found = await self._db.read(_pins, " WHERE principal = :principal AND server = :server", {"principal": principal, "server": server})
        return found.get((principal, server), {})

    async def pinned(self) -> Mapping[tuple[str, str], Mapping[str, Pin]]:
        return await self._db.read(_pins, "", {})

    async def found(self, principal: str, server: str) -> Found | None:
        return await self._db.read(_found, principal, server)

    async def set_found(self, found: Found) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO upstreams (principal, server, said, at) VALUES (?, ?, ?, ?)",
                (found.principal, found.server, found.said, found.at),
            )

        await self._db.write_unsynced(work)

    async def every_found(self) -> tuple[Found, ...]:
        return await self._db.read(_every_found)


def _pins(connection: sqlite3.Connection, where: str, values: Mapping[str, str]) -> dict[tuple[str, str], dict[str, Pin]]:
    pins: dict[tuple[str, str], dict[str, Pin]] = {}
    for principal, server, tool, digest, definition, at in every(connection, f"{_PINS}{where} ORDER BY principal, server, tool", values):
        pins.setdefault((principal, server), {})[tool] = Pin(digest=digest, definition=definition, at=at)
    return pins


def _found(connection: sqlite3.Connection, principal: str, server: str) -> Found | None:
    row = first(connection, f"{_FOUND} WHERE principal = :principal AND server = :server", {"principal": principal, "server": server})
    return None if row is None else Found(principal=row[0], server=row[1], said=row[2], at=row[3])


def _every_found(connection: sqlite3.Connection) -> tuple[Found, ...]:
    rows = every(connection, f"{_FOUND} ORDER BY principal, server", {})
    return tuple(Found(principal=row[0], server=row[1], said=row[2], at=row[3]) for row in rows)
