import anyio

from mcp_server.store.protocol import StoredAudit
from tests.bounds import LONG
from tests.store.conformance import Handles
from tests.store.samples import NASTY, PRINCIPAL, STRANGER, a_session, an_event

ROOT = a_session()
CHILD = a_session("child", parent=ROOT)
THEIRS = a_session("theirs", principal=STRANGER)


async def test_events_read_back_as_written_and_numbered_in_order(handles: Handles) -> None:
    events = (an_event(ROOT, NASTY), an_event(outcome="trusted", kind="trust", action=None, step=None))
    await handles.one.audit(events)
    await handles.two.audit((an_event(CHILD, "third"),))
    assert await handles.two.audit_log() == (
        StoredAudit(seq=1, event=events[0]),
        StoredAudit(seq=2, event=events[1]),
        StoredAudit(seq=3, event=an_event(CHILD, "third")),
    )


async def test_no_event_is_nothing_to_write(handles: Handles) -> None:
    before = await handles.one.changed()
    await handles.one.audit(())
    assert (await handles.one.changed(), await handles.two.audit_log()) == (before, ())


async def test_the_log_is_found_by_principal_tree_and_session(handles: Handles) -> None:
    for session in (ROOT, CHILD, THEIRS):
        await handles.one.add_session(session)
    await handles.one.audit((an_event(ROOT, "1"), an_event(CHILD, "2"), an_event(THEIRS, "3"), an_event(outcome="4")))

    async def found(**wanted: object) -> list[str]:
        log = await handles.two.audit_log(**wanted)  # pyright: ignore[reportArgumentType] - any subset of the keywords
        return [stored.event.outcome for stored in log]

    assert await found() == ["1", "2", "3", "4"]
    assert await found(principal=PRINCIPAL) == ["1", "2", "4"]
    assert await found(root_id=ROOT.id) == ["1", "2"]
    assert await found(session_id=CHILD.id) == ["2"]
    assert await found(principal=STRANGER, root_id=ROOT.id) == []


async def test_a_limit_keeps_the_newest_and_gives_the_oldest_of_them_first(handles: Handles) -> None:
    await handles.one.audit([an_event(ROOT, str(place)) for place in range(10)])
    assert [stored.seq for stored in await handles.two.audit_log(limit=3)] == [8, 9, 10]
    assert await handles.two.audit_log(limit=0) == ()


async def test_tasks_that_write_at_once_leave_no_gap_and_no_event_out(handles: Handles) -> None:
    async def write(name: int) -> None:
        store = handles.one if name % 2 else handles.two
        for step in range(5):
            await store.audit((an_event(ROOT, f"{name}.{step}"), an_event(ROOT, f"{name}.{step}b")))

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            for name in range(10):
                tasks.start_soon(write, name)
    log = await handles.two.audit_log()
    assert [stored.seq for stored in log] == list(range(1, 101))
    assert len({stored.event.outcome for stored in log}) == 100


async def test_what_is_not_synced_is_seen_at_once_and_keeps_its_place(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    await handles.one.audit((an_event(ROOT, "1"),))
    await handles.one.audit((an_event(ROOT, "2"),), synced=False)
    await handles.one.set_state(ROOT.id, "key", "value", synced=False)
    await handles.two.audit((an_event(ROOT, "3"),))
    assert [(stored.seq, stored.event.outcome) for stored in await handles.two.audit_log()] == [(1, "1"), (2, "2"), (3, "3")]
    assert await handles.two.state(ROOT.id, "key") == "value"
