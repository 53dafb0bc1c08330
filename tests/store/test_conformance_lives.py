"""What a store says of the life of runs: their steps, their sums, who is to stop, which trees may go."""

from dataclasses import replace

import pytest

from mcp_server.errors import LeaseLost
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import (
    Change,
    PromptState,
    Question,
    QuestionSubject,
    RunId,
    RunRecord,
    RunState,
    SessionRecord,
    TaskGiven,
    Usage,
)
from mcp_server.store.protocol import LONGEST_LEASE, Kept, Store
from mcp_server.store.spent import Spent
from tests.store.conformance import Handles
from tests.store.samples import NASTY, PRINCIPAL, a_prompt, a_ruling, a_run, a_session, an_event

ROOT = a_session()
CHILD = a_session("child", parent=ROOT)
GRANDCHILD = a_session("grandchild", parent=CHILD)
OTHER = a_session("other")
RUN = a_run(CHILD, "run")


async def _family(store: Store) -> None:
    for session in (ROOT, CHILD, GRANDCHILD, OTHER):
        await store.add_session(session)


async def _saved(store: Store, *runs: RunRecord, at: float = 10.0) -> None:
    lease = await store.claim(runs[0].id, owner="a", now=at, seconds=30.0)
    assert lease is not None
    for place, run in enumerate(runs):
        assert await store.save_run(run, lease, now=at + place)


# ---- steps ----------------------------------------------------------------------------------------


async def test_each_step_is_kept_with_its_time_and_reason_and_what_is_no_step_is_not(handles: Handles) -> None:
    await _family(handles.one)
    await handles.one.add_run(RUN, ())
    running, waiting = replace(RUN, state=RunState.RUNNING), replace(RUN, state=RunState.WAITING, reason="for a person")
    await _saved(handles.one, running, replace(running, usage=Usage(turns=1)), waiting, replace(waiting, reason="for two"), running)
    told = [(change.at, change.state, change.reason) for change in await handles.two.changes(CHILD.id)]
    assert told == [
        (1.0, RunState.QUEUED, ""),
        (10.0, RunState.RUNNING, ""),
        (12.0, RunState.WAITING, "for a person"),
        (13.0, RunState.WAITING, "for two"),
        (14.0, RunState.RUNNING, ""),
    ]


async def test_the_steps_of_a_session_are_those_of_all_its_runs_in_order_and_of_no_other(handles: Handles) -> None:
    await _family(handles.one)
    first, second, foreign = RUN, a_run(CHILD, "second", created_at=5.0, updated_at=5.0), a_run(OTHER, "foreign")
    for run in (second, first, foreign):
        await handles.one.add_run(run, ())
    assert await handles.two.changes(CHILD.id) == (
        Change(run_id=first.id, at=1.0, state=RunState.QUEUED, reason=""),
        Change(run_id=second.id, at=5.0, state=RunState.QUEUED, reason=""),
    )
    assert await handles.two.changes(SessionId("\ud800")) == ()


async def test_a_reason_of_any_text_is_kept_as_far_as_text_goes(handles: Handles) -> None:
    await _family(handles.one)
    await handles.one.add_run(replace(RUN, reason=NASTY), ())
    (change,) = await handles.two.changes(CHILD.id)
    assert change.reason == NASTY.replace("\ud800", "?")


# ---- sums -----------------------------------------------------------------------------------------


async def test_what_is_spent_is_summed_over_a_session_and_over_a_tree(handles: Handles) -> None:
    await _family(handles.one)
    for number, session in enumerate((CHILD, CHILD, GRANDCHILD, OTHER), start=1):
        await handles.one.add_run(a_run(session, f"run{number}", worked=number * 1.0, usage=_used(number)), ())
    assert await handles.two.spent(session_id=CHILD.id) == Spent(tokens=33, cost=0.75, steps=3, seconds=3.0)
    assert await handles.two.spent(root_id=ROOT.id) == Spent(tokens=66, cost=1.5, steps=6, seconds=6.0)
    assert await handles.two.spent(root_id=SessionId("none")) == Spent()


def _used(number: int) -> Usage:
    return Usage(turns=number, input_tokens=10 * number, output_tokens=number, cost=0.25 * number)


async def test_what_is_spent_follows_each_save(handles: Handles) -> None:
    await _family(handles.one)
    await handles.one.add_run(RUN, ())
    await _saved(handles.one, replace(RUN, state=RunState.RUNNING, usage=_used(2), worked=1.5))
    assert await handles.two.spent(session_id=CHILD.id) == Spent(tokens=22, cost=0.5, steps=2, seconds=1.5)


async def test_prompts_of_any_state_are_counted(handles: Handles) -> None:
    await _family(handles.one)
    question = QuestionSubject(questions=(Question(question="which?"),))
    await handles.one.add_prompt(a_prompt(CHILD, "one"))
    await handles.one.add_prompt(a_prompt(GRANDCHILD, "two", subject=question, state=PromptState.EXPIRED))
    await handles.one.add_prompt(a_prompt(OTHER, "three"))
    assert (await handles.two.spent(session_id=CHILD.id)).prompts == 1
    assert (await handles.two.spent(root_id=ROOT.id)).prompts == 2


# ---- cancelling -----------------------------------------------------------------------------------


async def test_a_wish_to_cancel_reaches_every_unfinished_run_below_and_no_other(handles: Handles) -> None:
    await _family(handles.one)
    runs = [
        a_run(CHILD, "child", state=RunState.WAITING),
        a_run(GRANDCHILD, "grandchild", created_at=2.0),
        a_run(GRANDCHILD, "done", state=RunState.COMPLETED),
        a_run(OTHER, "other"),
    ]
    for run in runs:
        await handles.one.add_run(run, ())
    await handles.one.request_cancel(RunId("grandchild"), "somebody before")
    assert await handles.one.request_cancel_below(CHILD.id, "the person") == ("child", "grandchild")
    found = {run.id: run.cancel_requested for run in [await handles.two.run(run.id) or run for run in runs]}
    assert found == {"child": "the person", "grandchild": "somebody before", "done": None, "other": None}
    assert set(await handles.two.runs_to_cancel()) == {"child", "grandchild"}
    assert set(await handles.two.runs_to_cancel(("/w",))) == {"child", "grandchild"}
    assert await handles.two.runs_to_cancel(("/elsewhere",)) == ()
    assert await handles.one.request_cancel_below(SessionId("none"), "nobody") == ()


# ---- who holds what, what is over -------------------------------------------------------------------


async def test_runs_that_nobody_holds_are_those_without_a_lease_with_a_lapsed_or_with_an_impossible_one(handles: Handles) -> None:
    await _family(handles.one)
    for number, name in enumerate(("free", "held", "lapsed", "impossible")):
        await handles.one.add_run(a_run(CHILD, name, created_at=float(number)), ())
    await handles.one.add_run(a_run(CHILD, "done", state=RunState.FAILED), ())
    for name, until in (("held", 101.0), ("lapsed", 100.0), ("impossible", 101.0 + LONGEST_LEASE)):
        await handles.one.claim(RunId(name), owner="a", now=until - 1.0, seconds=1.0)
    assert await handles.two.unheld_runs(now=100.0) == ("free", "lapsed", "impossible")
    assert await handles.two.unheld_runs(("/elsewhere",), now=100.0) == ()
    assert await handles.two.claim(RunId("held"), owner="b", now=100.0, seconds=1.0) is None
    assert await handles.two.claim(RunId("impossible"), owner="b", now=100.0, seconds=1.0) is not None


async def test_what_is_over_is_what_has_ended_is_closed_or_is_not_there(handles: Handles) -> None:
    await _family(handles.one)
    await handles.one.add_run(a_run(CHILD, "going", state=RunState.WAITING), ())
    await handles.one.add_run(a_run(CHILD, "gone", state=RunState.CANCELLED), ())
    await handles.one.add_prompt(a_prompt(CHILD, "open"))
    await handles.one.add_prompt(a_prompt(CHILD, "shut"))
    await handles.one.close_prompt(a_prompt(CHILD, "shut").id, PromptState.WITHDRAWN)
    assert await handles.two.over(("going", "gone", "open", "shut", "none")) == {"gone", "shut", "none"}
    assert await handles.two.over(()) == frozenset()


# ---- retention --------------------------------------------------------------------------------------


async def _old_tree(store: Store) -> None:
    await _family(store)
    await store.add_run(a_run(GRANDCHILD, "ended", state=RunState.COMPLETED), (TaskGiven(text="x"),))
    await store.add_prompt(a_prompt(CHILD, state=PromptState.WITHDRAWN))
    await store.add_rulings((a_ruling(CHILD),), (an_event(CHILD),))
    await store.set_state(CHILD.id, "todo", "[]")


async def test_a_silent_tree_is_taken_out_whole_but_for_its_audit(handles: Handles) -> None:
    await _old_tree(handles.one)
    heard = max(stored.event.at for stored in await handles.one.audit_log())
    audit = await handles.one.audit_log()
    assert Kept(root_id=ROOT.id, heard_at=heard) in await handles.two.silent_trees(before=heard + 1.0)
    assert set(await handles.one.forget_tree(ROOT.id)) == {ROOT.id, CHILD.id, GRANDCHILD.id}
    assert [session.id for session in await handles.two.sessions(PRINCIPAL)] == [OTHER.id]
    assert await handles.two.chain(CHILD.id) == ()
    assert await handles.two.transcript(GRANDCHILD.id) == ()
    assert await handles.two.prompts() == ()
    assert await handles.two.rulings(principal=PRINCIPAL) == ()
    assert await handles.two.state(CHILD.id, "todo") is None
    assert await handles.two.changes(GRANDCHILD.id) == ()
    assert await handles.two.audit_log() == audit
    assert await handles.one.forget_tree(ROOT.id) == ()


@pytest.mark.parametrize("busy", ["a run", "a prompt"])
async def test_a_tree_of_which_something_goes_on_stays(handles: Handles, busy: str) -> None:
    await _old_tree(handles.one)
    if busy == "a run":
        await handles.one.add_run(a_run(GRANDCHILD, "going", state=RunState.WAITING), ())
    else:
        await handles.one.add_prompt(a_prompt(CHILD, "open"))
    assert [kept.root_id for kept in await handles.two.silent_trees(before=1e9)] == [OTHER.id]
    assert await handles.one.forget_tree(ROOT.id) == ()
    assert await handles.two.chain(GRANDCHILD.id) == (ROOT, CHILD, GRANDCHILD)


async def test_trees_that_were_silent_longest_come_first_and_those_heard_of_since_not_at_all(handles: Handles) -> None:
    trees: list[SessionRecord] = [a_session(name, created_at=at) for name, at in (("late", 30.0), ("early", 10.0), ("middle", 20.0))]
    for session in trees:
        await handles.one.add_session(session)
    await handles.one.audit((an_event(trees[1], at=25.0),))
    assert [kept.root_id for kept in await handles.two.silent_trees(before=30.0)] == ["middle", "early"]


async def test_room_that_a_tree_took_is_free_again(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    before = await handles.one.used_bytes()
    await handles.one.add_run(a_run(ROOT, state=RunState.COMPLETED), (TaskGiven(text="x" * 500_000),))
    full = await handles.one.used_bytes()
    await handles.one.forget_tree(ROOT.id)
    assert full > before + 400_000
    assert await handles.two.used_bytes() < before + 100_000


async def test_a_prompt_for_a_call_is_not_opened_by_one_who_has_lost_the_run(handles: Handles) -> None:
    await _family(handles.one)
    await handles.one.add_run(RUN, ())
    lost = await handles.one.claim(RUN.id, owner="a", now=1.0, seconds=1.0)
    held = await handles.two.claim(RUN.id, owner="b", now=10.0, seconds=30.0)
    assert lost is not None
    assert held is not None
    with pytest.raises(LeaseLost):
        await handles.one.add_prompt(a_prompt(CHILD, "late"), (an_event(CHILD),), lease=lost)
    assert (await handles.two.prompts(), await handles.two.audit_log()) == ((), ())
    await handles.two.add_prompt(a_prompt(CHILD, "in time"), (an_event(CHILD),), lease=held)
    assert [prompt.id for prompt in await handles.one.prompts()] == ["in time"]
