"""Looking at a store from outside, and a schema that it does not know yet."""

import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_server.store.schema import MIGRATIONS
from mcp_server.store.sqlite import open_store
from tests.store.samples import a_session, an_event

NEXT = (*MIGRATIONS, ("ALTER TABLE sessions ADD COLUMN note TEXT NOT NULL DEFAULT ''", "CREATE TABLE notes (id TEXT)"))
"""A schema one version ahead."""


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(query).fetchall()


async def filled(path: Path) -> None:
    store = open_store(path)
    await store.add_session(a_session())
    await store.audit((an_event(),))
    await store.close()
