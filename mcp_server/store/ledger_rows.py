"""The table `ledger`, and where a run counts (a column of `runs`): the methods of the store, and the rows behind them."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence

from mcp_server.errors import NoPlace
from mcp_server.records import RunRecord
from mcp_server.store.connection import Database
from mcp_server.store.ledger import Charge, DayUse, Place, day_of
from mcp_server.store.rows import every, listed


class SqliteLedger:
    """The part of the SQLite store that counts."""

    _db: Database

    async def charge(self, charge: Charge, *, at: float) -> None:
        await self._db.write(add, charge, at)

    async def day_use(self, day: str) -> Mapping[str, DayUse]:
        return await self._db.read(_of_day, day)

    async def used(self, accounts: Sequence[str], *, day: str) -> Mapping[str, DayUse]:
        found = await self._db.read(_of_day, day, listed(accounts))
        return {account: found.get(account, DayUse()) for account in accounts}

    async def counted_runs(self) -> Mapping[str, int]:
        return await self._db.read(_counted)

    async def drop_use(self, *, before: str) -> int:
        return await self._db.write(_drop, before)


def add(connection: sqlite3.Connection, charge: Charge | None, at: float) -> None:
    """To the day of `at`. Inside the caller's transaction."""
    if charge is None:
        return
    connection.executemany(
        """INSERT INTO ledger (account, day, tokens, cost) VALUES (:account, :day, :tokens, :cost)
        ON CONFLICT (account, day) DO UPDATE SET tokens = tokens + :tokens, cost = cost + :cost""",
        [{"account": account, "day": day_of(at), "tokens": charge.tokens, "cost": charge.cost} for account in charge.accounts],
    )


def take(connection: sqlite3.Connection, run: RunRecord, places: Sequence[Place]) -> None:
    """Have a run that was added just now count at these accounts. Inside the caller's transaction.

    Raises:
        NoPlace: Of one of them no other place is left.
    """
    counted = _counted(connection) if any(place.most is not None for place in places) else {}
    for place in places:
        taken = counted.get(place.account, 0)
        if place.most is not None and taken >= place.most:
            raise NoPlace(place.account, taken)
    if places:
        accounts = json.dumps([place.account for place in places])
        connection.execute("UPDATE runs SET accounts = :accounts WHERE id = :id", {"accounts": accounts, "id": run.id})


def _of_day(connection: sqlite3.Connection, day: str, accounts: str | None = None) -> dict[str, DayUse]:
    rows = every(
        connection,
        "SELECT account, tokens, cost FROM ledger WHERE day = :day "
        "AND (:accounts IS NULL OR account IN (SELECT value FROM json_each(:accounts))) ORDER BY account",
        {"day": day, "accounts": accounts},
    )
    return {row[0]: DayUse(tokens=row[1], cost=row[2]) for row in rows}


def _counted(connection: sqlite3.Connection) -> dict[str, int]:
    rows = every(connection, "SELECT accounts FROM runs WHERE final = 0 AND accounts IS NOT NULL", {})
    return dict(Counter(account for row in rows for account in json.loads(row[0])))


def _drop(connection: sqlite3.Connection, before: str) -> int:
    return connection.execute("DELETE FROM ledger WHERE day < :before", {"before": before}).rowcount
