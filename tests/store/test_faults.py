"""What goes wrong with the file, and what the operator is told. Each time nothing is half written, and what is there stays as it is."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from mcp_server.errors import RemitError, StoreDamaged, StoreError, StoreFull, StoreLocked
from mcp_server.policy.verdicts import SessionId
from mcp_server.store import faults
from mcp_server.store.connection import Database
from mcp_server.store.sqlite import SqliteStore, open_store
from tests.bounds import LONG
from tests.store.processes import finish, let_go, worker
from tests.store.samples import PRINCIPAL, a_run, a_session, an_event
from tests.store.schemas import ask, filled
from tests.store.worker import NOBODY

ROOT = a_session()


# ---- locked -------------------------------------------------------------------------------------


async def test_a_database_that_stays_locked_is_reported_after_the_bound_and_nothing_is_written(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    store = open_store(path, wait_seconds=0.05)
    with worker("hold", path) as holder:
        with anyio.fail_after(LONG), pytest.raises(StoreLocked, match=r"more than 0\.05 s.*Nothing was written.*end it"):
            await store.audit((an_event(),))
        assert len(await store.audit_log()) == 1
        finish(holder)
    await store.audit((an_event(),))
    assert [stored.seq for stored in await store.audit_log()] == [1, 2]
    await store.close()


async def test_waiting_for_a_lock_holds_up_nobody_else_and_ends_with_it(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    store = open_store(path, wait_seconds=30)
    written = anyio.Event()

    async def write() -> None:
        await store.audit((an_event(outcome="patient"),))
        written.set()

    with worker("hold", path) as holder, anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            for _ in range(20):  # turns of the loop, taken while the writer waits
                await anyio.wait_all_tasks_blocked()
                assert not written.is_set()
            let_go(holder)
            await written.wait()
    assert [stored.event.outcome for stored in await store.audit_log()] == ["", "patient"]
    await store.close()


async def test_a_wait_that_is_cancelled_writes_nothing(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    store = open_store(path, wait_seconds=30)
    with worker("hold", path) as holder:
        with anyio.move_on_after(0.05) as scope:
            await store.audit((an_event(),))
        assert scope.cancelled_caught
        finish(holder)
    await store.add_session(a_session("after"))
    assert len(await store.audit_log()) == 1
    await store.close()


async def test_a_new_store_waits_for_the_lock_no_longer_than_the_bound(folder: Path) -> None:
    path = folder / "remit.db"
    path.touch(mode=0o600)
    with worker("hold", path) as holder:
        with pytest.raises(StoreLocked, match="held by another process"):
            open_store(path, wait_seconds=0.05)
        finish(holder)
    await filled(path)


# ---- damaged ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [b"not a database at all, but long enough to have a header" * 100, b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 4080, b"x"],
    ids=["text", "zeros", "header then noise", "one byte"],
)
def test_a_file_that_is_no_database_is_reported_by_name_and_left_untouched(folder: Path, content: bytes) -> None:
    path = folder / "remit.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"remit\.db is damaged.*left untouched.*backup"):
        open_store(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in folder.iterdir()] == ["remit.db"]


async def test_a_database_cut_short_is_reported_and_not_taken_for_an_empty_one(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    content = path.read_bytes()[: 4096 * 3]
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        open_store(path)
    assert path.read_bytes() == content


async def test_pages_of_noise_are_reported_and_other_pages_still_read(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    page = ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'audit'")[0][0]
    assert isinstance(page, int)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)
    before = path.read_bytes()
    store = open_store(path)
    with pytest.raises(StoreDamaged):
        await store.audit((an_event(),))
    with pytest.raises(StoreDamaged):
        await store.audit_log()
    assert await store.session("root", PRINCIPAL) == ROOT
    assert await store.faults() != ()
    await store.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("record", ["", "{}", "\x00", '{"id": 7}'])
async def test_a_record_that_cannot_be_read_is_named(folder: Path, record: str) -> None:
    path = folder / "remit.db"
    await filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET record = ?", (record,))
    store = open_store(path)
    with pytest.raises(StoreDamaged, match="the session root cannot be read back"):
        await store.session("root", PRINCIPAL)
    await store.close()


async def test_ancestors_without_an_end_are_reported_instead_of_left_out(folder: Path) -> None:
    path = folder / "remit.db"
    store = open_store(path)
    await store.add_session(ROOT)
    await store.add_session(a_session("child", parent=ROOT))
    ask(path, "UPDATE sessions SET parent_id = 'child' WHERE id = 'root'")
    with pytest.raises(StoreDamaged, match="have no end"):
        await store.chain(SessionId("child"))
    await store.close()


async def test_a_missing_table_is_reported(folder: Path) -> None:
    path = folder / "remit.db"
    await filled(path)
    ask(path, "DROP TABLE session_state")
    store = open_store(path)
    with pytest.raises(StoreDamaged, match="not those of this version"):
        await store.state(SessionId("root"), "todo")
    await store.close()


# ---- full ---------------------------------------------------------------------------------------


async def test_a_full_database_refuses_the_whole_change_and_keeps_what_it_has(folder: Path) -> None:
    database = Database(folder / "remit.db")
    store = SqliteStore(database)
    await store.add_session(ROOT)
    await store.add_run(a_run(ROOT), ())
    await database.read(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchall())  # SQLite's own smallest disk
    lease = await store.claim(a_run(ROOT).id, owner="a", now=1.0, seconds=10.0)
    assert lease is not None
    with pytest.raises(StoreFull, match=r"no room.*Free some space"):
        await store.save_run(a_run(ROOT, reason="x" * 100_000), lease, now=1.0, events=[an_event(ROOT)])
    run = await store.run(lease.run_id)
    assert run is not None
    assert (run.reason, await store.audit_log()) == ("", ())
    await database.read(lambda connection: connection.execute("PRAGMA max_page_count = 100000").fetchall())
    await store.audit((an_event(ROOT),))
    assert await store.faults() == ()
    await store.close()


@pytest.fixture
def small_disk(folder: Path) -> tuple[str, ...]:
    """A command that runs another with a tiny disk of its own in the place of `folder`, with room for tables and log."""
    unshare = shutil.which("unshare")
    if unshare is not None:
        alone = (unshare, "-m") if os.geteuid() == 0 else (unshare, "-rm")
        mounted = (*alone, "sh", "-c", 'mount -t tmpfs -o size=1000k,mode=0700 none "$0" && exec "$@"', str(folder))
        if subprocess.run([*mounted, "true"], capture_output=True, check=False, timeout=120).returncode == 0:
            return mounted
    pytest.skip("needs `unshare` and the right to mount a small disk")


@pytest.mark.parametrize("large", [0, 20_000], ids=["small changes", "large changes"])
def test_a_disk_that_fills_up_refuses_the_whole_change_and_goes_on_when_there_is_room(
    folder: Path, small_disk: tuple[str, ...], large: int
) -> None:
    with worker("fill", folder / "remit.db", str(large), before=small_disk) as process:
        told, *rest = finish(process)
    assert told.startswith(f"StoreFull there is no room to write to the store {folder / 'remit.db'}")
    assert rest == ["whole", "goes on"]


def test_a_store_on_a_disk_that_is_full_already_is_reported_and_opens_when_there_is_room(folder: Path, small_disk: tuple[str, ...]) -> None:
    with worker("open_on_full", folder / "remit.db", before=small_disk) as process:
        told, *rest = finish(process)
    assert told.startswith(f"StoreFull there is no room to write to the store {folder / 'remit.db'}")
    assert rest == ["True"]


# ---- not writable, gone, closed -----------------------------------------------------------------


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that is reached without passing pytest's own, which are closed to the user that the worker becomes."""
    with tempfile.TemporaryDirectory() as private:
        yield Path(private)


async def test_a_file_that_may_not_be_written_is_reported_and_left_as_it_is(reachable: Path) -> None:
    path = reachable / "remit.db"
    await filled(path)
    if os.geteuid() == 0:
        for owned in (path, reachable):
            os.chown(owned, NOBODY, NOBODY)
    path.chmod(0o400)
    before = path.read_bytes()
    with worker("write_unprivileged", path) as process:
        (told,) = finish(process)
    assert told.startswith(f"the store {path} cannot be written")
    assert path.read_bytes() == before


async def test_a_store_that_was_deleted_under_a_server_takes_no_more_writes(folder: Path) -> None:
    path = folder / "remit.db"
    store = open_store(path)
    await store.add_session(ROOT)
    path.unlink()
    with pytest.raises(StoreError, match="removed or replaced"):
        await store.audit((an_event(ROOT),))
    await store.close()


async def test_a_store_that_was_replaced_under_a_server_takes_no_more_writes(folder: Path) -> None:
    path = folder / "remit.db"
    store = open_store(path)
    await store.add_session(ROOT)
    os.replace(shutil.copy(path, folder / "copy"), path)
    with pytest.raises(StoreError, match="removed or replaced"):
        await store.audit((an_event(ROOT),))
    await store.close()


async def test_a_closed_store_says_so_and_closing_again_is_no_error(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.audit((an_event(),))


async def test_an_error_in_the_middle_of_a_change_leaves_the_connection_usable(folder: Path) -> None:
    database = Database(folder / "remit.db")

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO audit (seq, at, kind, principal, session_id, record) VALUES (1, 1, 'run', 'p', 's', '{}')")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await database.write(half)
    store = SqliteStore(database)
    await store.audit((an_event(),))
    assert [stored.seq for stored in await store.audit_log()] == [1]
    await store.close()


def test_every_fault_is_an_error_for_the_operator_that_names_the_file() -> None:
    path = Path("/state/remit.db")
    told = [faults.from_sqlite(path, error, waited=5.0) for error in all_sqlite_errors()]
    told += [faults.from_os(path, OSError(28, "No space left on device")), faults.from_os(path, PermissionError(13, "Permission denied"))]
    assert {type(error) for error in told} == {StoreLocked, StoreDamaged, StoreFull, StoreError}
    assert [error for error in told if not isinstance(error, RemitError) or str(path) not in str(error)] == []


def all_sqlite_errors() -> list[sqlite3.Error]:
    codes = sorted({value for name, value in vars(sqlite3).items() if name.startswith("SQLITE_") and isinstance(value, int)})
    errors: list[sqlite3.Error] = [sqlite3.ProgrammingError("Cannot operate on a closed database.")]
    for code in codes:
        error = sqlite3.OperationalError("words")
        error.sqlite_errorcode = code
        errors.append(error)
    return errors
