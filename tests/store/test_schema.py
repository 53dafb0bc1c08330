import sqlite3
from pathlib import Path

import pytest

from mcp_server.errors import StoreDamaged, StoreError
from mcp_server.store.connection import Database
from mcp_server.store.schema import APPLICATION_ID, MIGRATIONS
from mcp_server.store.sqlite import SqliteStore, open_store
from tests.store.samples import PRINCIPAL, a_session, an_event
from tests.store.schemas import NEXT, ask, filled


async def test_a_new_store_has_the_newest_schema_and_says_whose_it_is(folder: Path) -> None:
    await filled(folder / "remit.db")
    assert ask(folder / "remit.db", "PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert ask(folder / "remit.db", "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert ask(folder / "remit.db", "PRAGMA journal_mode") == [("wal",)]


async def test_an_older_store_is_migrated_with_what_it_holds(folder: Path) -> None:
    await filled(folder / "remit.db")
    newer = SqliteStore(Database(folder / "remit.db", migrations=NEXT))
    assert await newer.session("root", PRINCIPAL) == a_session()
    await newer.close()
    assert ask(folder / "remit.db", "SELECT note FROM sessions") == [("",)]
    assert ask(folder / "remit.db", "PRAGMA user_version") == [(len(NEXT),)]


async def test_a_migration_that_fails_leaves_the_store_as_it_was(folder: Path) -> None:
    await filled(folder / "remit.db")
    with pytest.raises(StoreError):
        Database(folder / "remit.db", migrations=(*MIGRATIONS, (*NEXT[-1], "INSERT INTO notes VALUES (1, 2, 3)")))
    assert ask(folder / "remit.db", "PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert ask(folder / "remit.db", "SELECT name FROM sqlite_master WHERE name = 'notes'") == []
    again = open_store(folder / "remit.db")
    assert await again.session("root", PRINCIPAL) == a_session()
    await again.close()


async def test_a_newer_store_is_refused_and_left_untouched(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    Database(path, migrations=NEXT).close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"newer Remit \(schema {len(NEXT)}; this one knows {len(MIGRATIONS)}\).*another state folder"):
        open_store(path)
    assert path.read_bytes() == before


async def test_a_handle_writes_no_more_once_another_process_has_migrated_the_file(folder: Path) -> None:
    old = open_store(folder / "remit.db")
    Database(folder / "remit.db", migrations=NEXT).close()
    with pytest.raises(StoreError, match="newer Remit"):
        await old.audit((an_event(),))
    assert await old.audit_log() == ()
    await old.close()


async def test_columns_that_are_not_known_do_no_harm(folder: Path) -> None:
    await filled(folder / "remit.db")
    for table in ("sessions", "runs", "entries", "prompts", "rulings", "audit"):
        ask(folder / "remit.db", f"ALTER TABLE {table} ADD COLUMN of_the_future TEXT DEFAULT 'x'")
    store = open_store(folder / "remit.db")
    await store.add_session(a_session("second"))
    await store.audit((an_event(),))
    assert [session.id for session in await store.sessions(PRINCIPAL)] == ["second", "root"]
    assert [stored.seq for stored in await store.audit_log()] == [1, 2]
    await store.close()


def test_the_database_of_another_program_is_refused_and_left_untouched(folder: Path) -> None:
    path = folder / "other.db"
    ask(path, "CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="not one of Remit's"):
        open_store(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in folder.iterdir()] == ["other.db"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET kind = 'trust' WHERE seq = 1",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE seq = 2",
        "REPLACE INTO audit SELECT 1, at, 'trust', principal, session_id, root_id, record, writer, place, hash FROM audit WHERE seq = 2",
        "INSERT INTO audit SELECT 9, at, kind, principal, session_id, root_id, record, writer, place, hash FROM audit WHERE seq = 1",
        "INSERT INTO audit SELECT 0, at, kind, principal, session_id, root_id, record, writer, place, hash FROM audit WHERE seq = 1",
    ],
    ids=["update", "delete all", "delete the last", "replace", "leave a gap", "put in front"],
)
async def test_the_audit_trail_cannot_be_rewritten_even_by_hand(folder: Path, statement: str) -> None:
    await filled(folder / "remit.db")
    await filled_again(folder / "remit.db")
    before = ask(folder / "remit.db", "SELECT * FROM audit")
    with pytest.raises(sqlite3.IntegrityError, match="the audit trail is"):
        ask(folder / "remit.db", statement)
    assert ask(folder / "remit.db", "SELECT * FROM audit") == before


async def filled_again(path: Path) -> None:
    store = open_store(path)
    await store.audit((an_event(outcome="second"),))
    await store.close()
