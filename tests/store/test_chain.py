from pathlib import Path

import anyio
import pytest

from mcp_server.errors import StoreError
from mcp_server.sessions.sealing import LONGEST, MANY, Sealer
from mcp_server.store.connection import Database
from mcp_server.store.proof import Proof
from mcp_server.store.schema import MIGRATIONS
from mcp_server.store.seals import SealFile
from mcp_server.store.sqlite import SqliteStore, open_store
from tests.bounds import LONG
from tests.store.samples import NASTY, a_run, a_session, an_event
from tests.store.schemas import ask

BEFORE_THE_CHAIN = MIGRATIONS[:3]


async def test_events_of_several_handles_at_once_are_chained_and_proven(folder: Path) -> None:
    stores = [open_store(folder / "remit.db") for _ in range(3)]
    await stores[0].add_session(a_session())

    async def write(store: SqliteStore, name: int) -> None:
        for step in range(10):
            await store.audit((an_event(a_session(), f"{name}.{step}"), an_event(None, NASTY)), synced=bool(step % 2))
            if step == 5:
                await store.seal_audit()

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            for name, store in enumerate(stores):
                tasks.start_soon(write, store, name)
    for store in stores:
        await store.close()
    proof = await proven(folder)
    assert (proof.findings, proof.events, proof.writers, proof.unsealed) == ((), 60, 3, 0)
    assert proof.checkpoints >= 2


async def test_an_event_that_is_rolled_back_leaves_no_gap_in_its_writers_chain(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.add_session(a_session())
    await store.audit((an_event(outcome="1"),))
    with pytest.raises(StoreError):
        await store.add_child(a_session(), a_run(a_session()), (), (an_event(outcome="lost"), an_event(outcome="lost too")))
    assert await store.revoke("no ruling", principal="local", now=1.0, events=(an_event(outcome="never"),)) is False
    await store.audit((an_event(outcome="2"),))
    await store.close()
    proof = await proven(folder)
    assert (proof.findings, proof.events, proof.writers) == ((), 2, 1)


async def test_what_no_checkpoint_holds_yet_is_told_as_that_and_not_as_tampering(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.audit((an_event(outcome="1"),))
    await store.seal_audit()
    await store.audit((an_event(outcome="2"), an_event(outcome="3")))
    proof = await store.prove_audit()
    await store.close()
    assert (proof.findings, proof.sealed_to, proof.unsealed) == ((), 1, 2)


async def test_events_from_before_the_chain_are_told_apart_and_held_by_the_first_checkpoints(folder: Path) -> None:
    older = SqliteStore(Database(folder / "remit.db", migrations=BEFORE_THE_CHAIN))
    await older.add_session(a_session())
    for step in range(3):
        ask(
            folder / "remit.db",
            f"INSERT INTO audit VALUES ({step + 1}, 2.0, 'run', 'local', 'root', 'root', '{{}}')",  # noqa: S608 - a test's own
        )
    await older.close()
    store = open_store(folder / "remit.db")
    await store.audit((an_event(outcome="4"),))
    await store.close()
    proof = await proven(folder)
    assert (proof.findings, proof.events, proof.unchained, proof.sealed_to) == ((), 4, 3, 4)
    ask(folder / "remit.db", "DROP TRIGGER audit_is_never_changed")
    ask(folder / "remit.db", "UPDATE audit SET kind = 'trust' WHERE seq = 2")
    assert [str(one) for one in (await proven(folder)).findings] == ["events 1 to 4: they are not the events that checkpoint 1 was made of"]


async def test_a_checkpoint_that_a_crash_cut_short_is_a_note_and_is_made_again(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.audit((an_event(outcome="1"),))
    await store.seal_audit()
    await store.audit((an_event(outcome="2"),))
    await store.seal_audit()
    file = SealFile(folder / "remit.db")
    file.path.write_bytes(file.path.read_bytes()[:-40])
    proof = await store.prove_audit()
    assert (proof.findings, proof.sealed_to, proof.unsealed, len(proof.notes)) == ((), 1, 1, 1)
    await store.seal_audit()
    again = await store.prove_audit()
    await store.close()
    assert (again.findings, again.sealed_to, again.notes) == ((), 2, ())


async def test_retired_events_are_gone_in_whole_segments_and_the_rest_is_still_proven(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    for at in (10.0, 20.0, 30.0):
        await store.audit((an_event(at=at), an_event(at=at + 1)))
        await store.seal_audit()
    await store.audit((an_event(at=5.0),))
    assert await store.retire_audit(before=31.0) == 4
    assert [stored.seq for stored in await store.audit_log()] == [5, 6, 7]
    assert await store.retire_audit(before=31.0) == 0
    proof = await store.prove_audit()
    assert (proof.findings, proof.retired, proof.unsealed) == ((), 4, 1)
    assert await store.retire_audit(before=1000.0) == 2
    await store.audit((an_event(at=40.0),))
    assert [stored.seq for stored in await store.audit_log()] == [7, 8]
    await store.seal_audit()
    assert await store.retire_audit(before=1000.0) == 2
    await store.audit((an_event(at=50.0),))
    proof = await store.prove_audit()
    await store.close()
    assert (proof.findings, proof.retired, proof.events) == ((), 8, 1)


async def test_without_its_key_nothing_more_is_signed_and_events_are_written_all_the_same(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.audit((an_event(),))
    await store.seal_audit()
    SealFile(folder / "remit.db").key_path.unlink()
    await store.audit((an_event(),))
    with pytest.raises(StoreError, match=r"remit\.db\.key is lost"):
        await store.seal_audit()
    await store.close()
    assert ask(folder / "remit.db", "SELECT count(*) FROM audit") == [(2,)]


async def test_a_server_has_the_audit_signed_after_many_events_or_some_time(folder: Path) -> None:
    store, now = open_store(folder / "remit.db"), [0.0]
    sealer = Sealer(store, lambda: now[0])
    await store.audit((an_event(),))
    await sealer.look()
    assert (await store.prove_audit()).unsealed == 1
    now[0] = LONGEST
    await sealer.look()
    assert (await store.prove_audit()).unsealed == 0
    await store.audit([an_event() for _ in range(MANY)])
    await sealer.look()
    assert (await store.prove_audit()).unsealed == 0
    await store.close()


async def test_closing_a_handle_signs_what_it_wrote_and_a_reader_signs_nothing(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.audit_log()
    await store.close()
    assert not SealFile(folder / "remit.db").path.exists()
    writer = open_store(folder / "remit.db")
    await writer.audit((an_event(),))
    await writer.close()
    file = SealFile(folder / "remit.db")
    assert [path.stat().st_mode & 0o777 for path in (file.path, file.key_path)] == [0o600, 0o600]


async def proven(folder: Path) -> Proof:
    store = open_store(folder / "remit.db")
    try:
        return await store.prove_audit()
    finally:
        await store.close()
