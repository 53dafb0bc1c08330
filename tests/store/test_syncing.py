import sqlite3
from pathlib import Path

from mcp_server.store.connection import Database

FULL, NORMAL = 2, 1


def syncing(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA synchronous").fetchone()[0]


async def test_each_write_is_flushed_to_the_disk_unless_it_says_that_it_need_not_be(folder: Path) -> None:
    database = Database(folder / "remit.db")
    seen = [
        await database.write(syncing),
        await database.write_unsynced(syncing),
        await database.write_unsynced(syncing),
        await database.write(syncing),
    ]
    database.close()
    assert seen == [FULL, NORMAL, NORMAL, FULL]


async def test_a_write_that_failed_leaves_the_next_one_flushed(folder: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise LookupError(connection)

    database = Database(folder / "remit.db")
    try:
        await database.write_unsynced(fail)
    except LookupError:
        seen = await database.write(syncing)
    else:
        seen = None
    database.close()
    assert seen == FULL
