from dataclasses import replace

import pytest

from mcp_server.errors import LeaseLost, StoreError, ToolFailure
from mcp_server.policy.values import Reach
from mcp_server.records import (
    Cancelled,
    Completed,
    Expired,
    Failed,
    Outcome,
    RunId,
    RunRecord,
    RunState,
    StoredEntry,
    TaskGiven,
    Usage,
)
from mcp_server.store.protocol import ENDED_BY, Lease
from tests.store.conformance import Handles
from tests.store.samples import ENTRIES, NASTY, PRINCIPAL, REFUSED, STRANGER, a_ruling, a_run, a_session, an_event

ROOT = a_session()
RUN = a_run(ROOT)


async def _a_held_run(handles: Handles, owner: str = "a") -> Lease:
    await handles.one.add_session(ROOT)
    await handles.one.add_run(RUN, ())
    lease = await handles.one.claim(RUN.id, owner=owner, now=10.0, seconds=30.0)
    assert lease is not None
    return lease


async def test_a_run_and_its_entries_read_back_as_they_were_written(handles: Handles) -> None:
    run = a_run(ROOT, reason=NASTY, background=True, usage=Usage(turns=3), worked=99.5, updated_at=4.0)
    await handles.one.add_session(ROOT)
    await handles.one.add_run(run, ENTRIES)
    assert await handles.two.run(run.id) == run
    assert await handles.two.transcript(ROOT.id) == tuple(
        StoredEntry(seq=seq, run_id=run.id, at=4.0, entry=entry) for seq, entry in enumerate(ENTRIES, start=1)
    )


async def test_a_run_that_is_not_there_is_none(handles: Handles) -> None:
    assert await handles.one.run(RunId("\ud800")) is None
    assert await handles.one.claim(RunId("none"), owner="a", now=1.0, seconds=1.0) is None


async def test_a_run_of_another_principal_than_its_session_is_refused(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    with pytest.raises(StoreError):
        await handles.one.add_run(a_run(ROOT, principal=STRANGER), ENTRIES)
    assert (await handles.two.run(RUN.id), await handles.two.transcript(ROOT.id)) == (None, ())


async def test_a_child_is_added_with_its_run_entries_and_audit_or_not_at_all(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    child = a_session("child", parent=ROOT)
    await handles.one.add_child(child, a_run(child), (TaskGiven(text="t"),), (an_event(child),))
    again = a_session("again", parent=ROOT)
    with pytest.raises(StoreError):
        await handles.one.add_child(again, a_run(again), (TaskGiven(text="t"),), (an_event(again),))
    assert await handles.two.children(ROOT.id) == (child,)
    assert await handles.two.run(RUN.id) == a_run(child)
    assert [stored.event for stored in await handles.two.audit_log(root_id=ROOT.id)] == [an_event(child)]


async def test_an_ended_child_is_resumed_once_and_one_that_goes_on_is_left_as_it_is(handles: Handles) -> None:
    other, child = a_session("other"), a_session("child", parent=ROOT)
    moved = replace(child, parent_id=other.id, root_id=other.id)
    first = a_run(child, "first", state=RunState.COMPLETED, outcome=Completed(result="done"))
    second, third = a_run(moved, "second"), a_run(moved, "third")
    for session in (ROOT, other):
        await handles.one.add_session(session)
    await handles.one.add_child(child, first, (), ())
    assert await handles.one.resume_child(moved, second, (TaskGiven(text="more"),), (an_event(moved),))
    assert not await handles.two.resume_child(child, third, (TaskGiven(text="again"),), (an_event(child),))
    assert await handles.two.session(child.id, PRINCIPAL) == moved
    assert await handles.two.run(third.id) is None
    assert [stored.entry for stored in await handles.two.transcript(child.id)] == [TaskGiven(text="more")]
    assert len(await handles.two.audit_log(session_id=child.id)) == 1


async def test_nothing_is_started_below_a_root_that_somebody_ended(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    child, other = a_session("child", parent=ROOT), a_session("other", parent=ROOT)
    await handles.one.add_child(child, a_run(child, "first", state=RunState.COMPLETED, outcome=Completed(result="done")), ENTRIES, ())
    await handles.two.set_state(ROOT.id, ENDED_BY, "an operator")
    with pytest.raises(ToolFailure, match="ended by an operator"):
        await handles.one.add_child(other, a_run(other, "second"), ENTRIES, ())
    with pytest.raises(ToolFailure, match="ended by an operator"):
        await handles.one.resume_child(child, a_run(child, "third"), ENTRIES, ())
    assert await handles.two.unfinished_runs() == ()
    assert await handles.two.session(other.id, PRINCIPAL) is None


async def test_the_latest_run_of_a_session_is_the_last_made(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    for name, created in (("r1", 1.0), ("r3", 3.0), ("r2", 2.0)):
        await handles.one.add_run(a_run(ROOT, name, created_at=created), ())
    latest = await handles.two.latest_run(ROOT.id)
    assert latest is not None
    assert latest.id == "r3"


async def test_entries_of_several_runs_make_one_numbered_transcript(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    await handles.one.save_run(RUN, lease, now=11.0, entries=ENTRIES[:2])
    await handles.one.add_run(a_run(ROOT, "second", updated_at=12.0), ENTRIES[:1])
    await handles.two.save_run(RUN, lease, now=13.0, entries=ENTRIES[2:4])
    stored = await handles.two.transcript(ROOT.id)
    assert [(entry.seq, entry.run_id, entry.at) for entry in stored] == [
        (1, "run", 11.0),
        (2, "run", 11.0),
        (3, "second", 12.0),
        (4, "run", 13.0),
        (5, "run", 13.0),
    ]
    assert [entry.entry for entry in stored] == [*ENTRIES[:2], ENTRIES[0], *ENTRIES[2:4]]
    assert await handles.one.transcript(ROOT.id, after=3) == stored[3:]
    assert await handles.one.transcript(ROOT.id, after=5) == ()


# ---- leases -------------------------------------------------------------------------------------


async def test_a_held_run_cannot_be_claimed_until_its_lease_lapses(handles: Handles) -> None:
    await _a_held_run(handles)
    assert await handles.two.claim(RUN.id, owner="b", now=39.9, seconds=30.0) is None
    assert await handles.two.claim(RUN.id, owner="b", now=40.0, seconds=30.0) == Lease(run_id=RUN.id, owner="b", fence=2)
    assert await handles.one.run(RUN.id) == replace(RUN, owner="b", lease_until=70.0, fence=2)


async def test_an_owner_renews_without_a_new_fence_even_after_the_lapse(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    assert await handles.one.claim(RUN.id, owner="a", now=20.0, seconds=30.0) == lease
    assert await handles.one.claim(RUN.id, owner="a", now=500.0, seconds=30.0) == lease
    assert await handles.two.claim(RUN.id, owner="b", now=529.0, seconds=30.0) is None


async def test_a_released_run_is_free_and_its_next_holder_has_a_larger_fence(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    await handles.one.release(lease)
    freed = await handles.two.run(RUN.id)
    assert freed is not None
    assert (freed.owner, freed.lease_until) == (None, None)
    assert await handles.two.claim(RUN.id, owner="b", now=11.0, seconds=1.0) == Lease(run_id=RUN.id, owner="b", fence=2)


async def test_releasing_a_lost_lease_takes_nothing_from_its_new_holder(handles: Handles) -> None:
    lost = await _a_held_run(handles)
    await handles.two.claim(RUN.id, owner="b", now=100.0, seconds=30.0)
    await handles.one.release(lost)
    held = await handles.one.run(RUN.id)
    assert held is not None
    assert held.owner == "b"


@pytest.mark.parametrize("taken_over", [True, False], ids=["taken over", "released"])
async def test_a_lost_lease_writes_nothing(handles: Handles, taken_over: bool) -> None:
    lost = await _a_held_run(handles)
    if taken_over:
        await handles.two.claim(RUN.id, owner="b", now=100.0, seconds=30.0)
    else:
        await handles.two.release(lost)
    before = await handles.two.run(RUN.id)
    with pytest.raises(LeaseLost, match="another process's"):
        await handles.one.save_run(replace(RUN, reason="late"), lost, now=101.0, entries=ENTRIES, events=(an_event(ROOT),))
    after = await handles.two.run(RUN.id), await handles.two.transcript(ROOT.id), await handles.two.audit_log()
    assert after == (before, (), ())


async def test_a_lease_that_was_lost_is_not_good_again_when_its_owner_takes_the_run_back(handles: Handles) -> None:
    lost = await _a_held_run(handles)
    await handles.two.claim(RUN.id, owner="b", now=100.0, seconds=0.0)
    regained = await handles.one.claim(RUN.id, owner="a", now=101.0, seconds=30.0)
    assert regained is not None
    assert regained == replace(lost, fence=3)
    await handles.one.release(lost)
    with pytest.raises(LeaseLost):
        await handles.one.save_run(RUN, lost, now=102.0, entries=ENTRIES)
    assert await handles.one.save_run(RUN, regained, now=102.0)
    assert await handles.two.transcript(ROOT.id) == ()


async def test_a_lease_of_one_run_does_not_write_another(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    other = a_run(ROOT, "other")
    await handles.one.add_run(other, ())
    with pytest.raises(LeaseLost):
        await handles.one.save_run(replace(other, reason="x"), lease, now=11.0)
    assert await handles.two.run(other.id) == other


async def test_the_owner_and_the_wish_to_cancel_are_not_overwritten_by_a_save(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    await handles.two.request_cancel(RUN.id, "the person")
    assert await handles.one.save_run(replace(RUN, state=RunState.RUNNING, owner="me", fence=99), lease, now=11.0)
    assert await handles.two.run(RUN.id) == replace(
        RUN, state=RunState.RUNNING, owner="a", lease_until=40.0, fence=1, cancel_requested="the person"
    )


async def test_the_first_who_asks_to_cancel_is_noted(handles: Handles) -> None:
    await _a_held_run(handles)
    await handles.one.request_cancel(RUN.id, "first")
    await handles.two.request_cancel(RUN.id, "second")
    await handles.two.request_cancel(RunId("unknown"), "nobody")
    run = await handles.two.run(RUN.id)
    assert run is not None
    assert run.cancel_requested == "first"


# ---- ends ---------------------------------------------------------------------------------------

ENDS: list[tuple[RunState, Outcome]] = [
    (RunState.COMPLETED, Completed(result=NASTY, refused=(REFUSED,))),
    (RunState.FAILED, Failed(error="e", partial="p", refused=(REFUSED,))),
    (RunState.CANCELLED, Cancelled(by="b")),
    (RunState.EXPIRED, Expired(limit="steps")),
]


@pytest.mark.parametrize(("state", "outcome"), ENDS, ids=[state for state, _ in ENDS])
async def test_a_run_that_has_ended_keeps_its_outcome_and_is_never_taken_up_again(
    handles: Handles, state: RunState, outcome: Outcome
) -> None:
    lease = await _a_held_run(handles)
    ended = replace(RUN, state=state, outcome=outcome)
    await handles.one.save_run(ended, lease, now=11.0)
    await handles.two.request_cancel(RUN.id, "too late")
    with pytest.raises(StoreError, match="has ended"):
        await handles.one.save_run(replace(RUN, state=RunState.RUNNING), lease, now=12.0)
    assert await handles.two.claim(RUN.id, owner="a", now=12.0, seconds=1.0) is None
    assert await handles.two.run(RUN.id) == replace(ended, owner="a", lease_until=40.0, fence=1)
    assert await handles.two.unfinished_runs() == ()


async def test_unfinished_runs_are_found_by_workspace_and_root_oldest_first(handles: Handles) -> None:
    other = a_session("other", workspace="/other ›")
    await handles.one.add_session(ROOT)
    await handles.one.add_session(other)
    runs: list[RunRecord] = [
        a_run(ROOT, "late", created_at=5.0, state=RunState.WAITING),
        a_run(ROOT, "done", state=RunState.FAILED),
        a_run(other, "elsewhere", created_at=2.0),
        a_run(ROOT, "early", created_at=1.0, state=RunState.RUNNING),
    ]
    for run in runs:
        await handles.one.add_run(run, ())

    async def found(workspaces: tuple[str, ...] | None = None, root: str | None = None) -> list[str]:
        root_id = None if root is None else a_session(root).id
        return [run.id for run in await handles.two.unfinished_runs(workspaces=workspaces, root_id=root_id)]

    assert await found() == ["early", "elsewhere", "late"]
    assert await found(("/w",)) == ["early", "late"]
    assert await found(("/w", "/other ›")) == ["early", "elsewhere", "late"]
    assert await found(()) == []
    assert await found(root="other") == ["elsewhere"]
    assert await found(("/w",), "other") == []


# ---- rulings used by a save ---------------------------------------------------------------------


async def test_a_save_uses_its_rulings_up_with_what_it_writes(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    once = a_ruling(ROOT, "once", Reach.ONCE)
    await handles.one.add_rulings((once,), ())
    assert await handles.one.save_run(RUN, lease, now=11.0, entries=ENTRIES[2:3], events=(an_event(ROOT),), uses=(once.id,))
    assert await handles.two.rulings(principal=PRINCIPAL) == (replace(once, used=1),)
    assert len(await handles.two.transcript(ROOT.id)) == len(await handles.two.audit_log()) == 1


async def test_a_save_whose_ruling_no_longer_stands_writes_nothing(handles: Handles) -> None:
    lease = await _a_held_run(handles)
    once, standing = a_ruling(ROOT, "once", Reach.ONCE), a_ruling(ROOT)
    await handles.one.add_rulings((once, standing), ())
    await handles.two.use_rulings((once.id,), now=11.0, events=())
    saved = await handles.one.save_run(
        replace(RUN, reason="x"), lease, now=12.0, entries=ENTRIES, events=(an_event(ROOT),), uses=(standing.id, once.id)
    )
    assert not saved
    assert await handles.two.run(RUN.id) == replace(RUN, owner="a", lease_until=40.0, fence=1)
    assert (await handles.two.transcript(ROOT.id), await handles.two.audit_log()) == ((), ())
    assert [ruling.used for ruling in await handles.two.rulings(principal=PRINCIPAL)] == [1, 0]


async def test_a_lost_lease_is_told_before_a_lost_ruling(handles: Handles) -> None:
    lost = await _a_held_run(handles)
    await handles.two.claim(RUN.id, owner="b", now=100.0, seconds=30.0)
    with pytest.raises(LeaseLost):
        await handles.one.save_run(RUN, lost, now=101.0, uses=(a_ruling(ROOT).id,))
    assert await handles.two.audit_log() == ()


async def test_a_child_is_busy_while_one_of_its_runs_has_not_ended(handles: Handles) -> None:
    first, second, other = (a_session(name, parent=ROOT) for name in ("first", "second", "other"))
    for session in (ROOT, first, second, other, a_session("below", parent=first)):
        await handles.one.add_session(session)
    assert await handles.two.busy_children(ROOT.id) == 0
    for session, name, state in (
        (first, "1", RunState.COMPLETED),
        (first, "2", RunState.WAITING),
        (second, "3", RunState.QUEUED),
        (other, "4", RunState.FAILED),
        (ROOT, "5", RunState.RUNNING),
    ):
        await handles.one.add_run(a_run(session, name, state=state), ())
    assert await handles.two.busy_children(ROOT.id) == 2
    assert await handles.two.busy_children(second.id) == 0
