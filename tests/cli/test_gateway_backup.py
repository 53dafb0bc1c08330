"""A backup is a whole copy of a store that others write to meanwhile, and comes back whole, or not at all."""

import io
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread
from click.testing import CliRunner, Result

from mcp_server.cli.archives import NAMES, Contents, Unfit, write
from mcp_server.cli.gateway_backup import restored
from mcp_server.cli.main import remit
from mcp_server.errors import RemitError, StoreError
from mcp_server.store.connection import Database
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from tests.store.samples import a_session, an_event
from tests.store.schemas import NEXT

FILE, SEALS, KEY, STATES = NAMES


def sure(_contents: Contents) -> None:
    """A person who typed the code."""


def lay(state: Path) -> None:
    (state / "trust").mkdir(parents=True)
    (state / "trust" / "one.json").write_text("{}")
    (state / STATES).write_bytes(b"k" * 64)
    state.chmod(0o700)


def names_in(folder: Path) -> set[str]:
    """But for what SQLite lays beside a database."""
    return {path.name for path in folder.iterdir() if not path.name.endswith(("-shm", "-wal"))}


def contents_of(folder: Path) -> dict[str, bytes]:
    """But for the database, whose header says how it was opened last."""
    return {name: (folder / name).read_bytes() for name in NAMES if name != FILE}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with a session, signed events, keys and trust."""
    folder = tmp_path / "state"
    lay(folder)

    async def begin() -> None:
        store = open_store(folder / FILE)
        await store.add_session(a_session("before"))
        await store.audit([an_event(outcome="before")])
        await store.close()

    anyio.run(begin)
    return folder


async def outcomes(folder: Path) -> list[str]:
    store = open_store(folder / FILE)
    try:
        assert (await store.prove_audit()).findings == ()
        return [stored.event.outcome for stored in await store.audit_log()]
    finally:
        await store.close()


async def back(file: Path, folder: Path, *, unproven: bool = False) -> Path:
    return await to_thread.run_sync(lambda: restored(file, folder, unproven=unproven, sure=sure))


async def test_what_was_copied_while_a_server_wrote_comes_back_whole_and_what_was_there_is_kept(state: Path, tmp_path: Path) -> None:
    file, store = tmp_path / "remit.backup", open_store(state / FILE)

    async def writes(store: Store) -> None:
        for number in range(200):
            await store.audit([an_event(outcome=f"event {number}")])
            if number % 20 == 0:
                await store.seal_audit()
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(writes, store)
        await to_thread.run_sync(write, state, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(StoreError, match="is in use"):
        await back(file, state)
    await store.set_state(a_session("before").id, "after", "the backup")
    await store.close()
    kept = await back(file, state)
    found = await outcomes(state)
    assert found[0] == "before"
    assert found[1:-1] == [f"event {number}" for number in range(len(found) - 2)]
    assert found[-1].startswith("restored from a backup of ")
    assert (state / "trust" / "one.json").exists()
    assert (state / STATES).read_bytes() == b"k" * 64
    assert (await outcomes(kept))[-1] == "event 199"
    assert names_in(state) == {*NAMES, "trust", kept.name}


async def test_it_comes_back_into_an_empty_folder_too(state: Path, tmp_path: Path) -> None:
    write(state, tmp_path / "file")
    (tmp_path / "new").mkdir(mode=0o700)
    await back(tmp_path / "file", tmp_path / "new")
    assert (await outcomes(tmp_path / "new"))[0] == "before"


async def test_a_changed_audit_comes_back_only_where_somebody_says_so(state: Path, tmp_path: Path) -> None:
    seals = state / SEALS
    seals.write_bytes(seals.read_bytes().replace(b'"last":1', b'"last":2'))
    write(state, tmp_path / "file")
    before = contents_of(state)
    with pytest.raises(StoreError, match="not as it was written"):
        await back(tmp_path / "file", state)
    assert contents_of(state) == before
    assert await back(tmp_path / "file", state, unproven=True)


async def test_a_newer_store_a_torn_file_and_a_hostile_one_change_nothing(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    write(state, file)
    torn, hostile, newer = tmp_path / "torn", tmp_path / "hostile", tmp_path / "newer"
    torn.write_bytes(file.read_bytes()[:-200])
    with tarfile.open(file) as good, tarfile.open(hostile, "w:gz") as bad:
        first = good.next()
        assert first is not None
        bad.addfile(first, good.extractfile(first))
        bad.addfile(tarfile.TarInfo("trust/../../escaped.json"), io.BytesIO())
    other = tmp_path / "later"
    lay(other)
    from_later(other)
    with pytest.raises(StoreError, match="written by a newer Remit"):
        write(other, newer)
    for bad_file, said in ((torn, "no whole backup"), (hostile, "which no backup holds"), (state / STATES, "no whole backup")):
        with pytest.raises((Unfit, RemitError), match=said):
            await back(bad_file, state)
    assert names_in(state) == {*NAMES, "trust"}
    assert not (tmp_path / "escaped.json").exists()


def from_later(folder: Path) -> None:
    Database(folder / FILE, migrations=NEXT).close()


def run(environment: Mapping[str, str], *arguments: str) -> Result:
    return CliRunner(env=dict(environment)).invoke(remit, ["gateway", *arguments])


def test_nothing_is_restored_without_a_person_nor_a_file_overwritten(state: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert run(environment, "backup", str(file)).exit_code == 0
    again = run(environment, "backup", str(file))
    assert (again.exit_code, "is there already" in again.output) == (2, True)
    told = run(environment, "restore", str(file))
    assert (told.exit_code, "person at a terminal" in told.output) == (2, True)
