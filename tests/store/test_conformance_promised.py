from dataclasses import replace

import pytest

from mcp_server.errors import LeaseLost, StoreError
from mcp_server.policy.values import CallId, Reach, ToolCall
from mcp_server.records import CallEnded, Ending, PromptId, TextPart
from mcp_server.store.promised import PromisedCall
from tests.store.conformance import Handles
from tests.store.samples import NASTY, PRINCIPAL, STRANGER, a_ruling, a_session, an_event

ROOT = a_session()
CALL = ToolCall(id=CallId("call"), tool="edit", arguments={"filePath": NASTY, "count": [1, None]})
PROMISED = PromisedCall(call=CALL, root_id=ROOT.id, principal=PRINCIPAL, workspace="/w", created_at=5.0, updated_at=5.0)
ENDED = CallEnded(call_id=CALL.id, tool="edit", ending=Ending.DONE, parts=(TextPart(text=NASTY),), structured={"a": [1]})
BEGUN = an_event(ROOT, "begun")
OVER = an_event(ROOT, "over")


async def _kept(handles: Handles, *, held_by: str | None = None) -> None:
    await handles.one.add_session(ROOT)
    await handles.one.add_promised(PROMISED)
    if held_by is not None:
        assert await handles.one.claim_promised(CALL.id, owner=held_by, now=10.0, seconds=30.0) is not None


async def test_a_promised_call_reads_back_as_it_was_written(handles: Handles) -> None:
    await _kept(handles)
    full = replace(
        PROMISED,
        call=replace(CALL, id=CallId("full")),
        begun=True,
        waits_for="prm_1",
        put_off=(PromptId("prm_0"),),
        ended=ENDED,
        fault=NASTY,
        cancel_requested="somebody",
        owner="a",
        lease_until=9.5,
    )
    await handles.one.add_promised(full)
    assert await handles.two.promised(CALL.id, PRINCIPAL) == PROMISED
    assert await handles.two.promised("full", PRINCIPAL) == full


@pytest.mark.parametrize("call_id", ["none", "", "\ud800", "call'; --"])
async def test_one_that_is_not_there_is_none(handles: Handles, call_id: str) -> None:
    await _kept(handles)
    assert await handles.one.promised(call_id, PRINCIPAL) is None
    assert await handles.one.claim_promised(CallId(call_id), owner="a", now=1.0, seconds=1.0) is None


async def test_a_foreign_one_is_as_good_as_none(handles: Handles) -> None:
    await _kept(handles)
    assert await handles.two.promised(CALL.id, STRANGER) is None
    assert await handles.two.promised_open(principal=STRANGER) == ()
    await handles.two.cancel_promised(CALL.id, STRANGER, "a stranger", now=6.0)
    await handles.two.put_off_promised(CALL.id, STRANGER, [PromptId("prm")], now=6.0)
    assert await handles.one.promised(CALL.id, PRINCIPAL) == PROMISED


async def test_one_of_another_principal_than_its_root_is_refused(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    with pytest.raises(StoreError):
        await handles.one.add_promised(replace(PROMISED, principal=STRANGER))
    with pytest.raises(StoreError):
        await handles.one.add_promised(replace(PROMISED, root_id=a_session("other").id))
    assert await handles.two.promised_open() == ()


async def test_open_ones_are_listed_oldest_first_and_by_workspace(handles: Handles) -> None:
    await _kept(handles)
    early = replace(PROMISED, call=replace(CALL, id=CallId("early")), created_at=1.0, workspace="/elsewhere")
    over = replace(PROMISED, call=replace(CALL, id=CallId("over")), ended=ENDED)
    faulty = replace(PROMISED, call=replace(CALL, id=CallId("faulty")), fault="the disk")
    for promised in (early, over, faulty):
        await handles.one.add_promised(promised)
    assert await handles.two.promised_open() == (early, PROMISED)
    assert await handles.two.promised_open(workspaces=["/w"], principal=PRINCIPAL) == (PROMISED,)
    assert await handles.two.promised_open(workspaces=[]) == ()


async def test_only_one_process_holds_it_until_its_lease_lapses(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    assert await handles.two.claim_promised(CALL.id, owner="b", now=39.9, seconds=30.0) is None
    assert await handles.two.claim_promised(CALL.id, owner="a", now=20.0, seconds=30.0) == replace(PROMISED, owner="a", lease_until=50.0)
    assert await handles.two.claim_promised(CALL.id, owner="b", now=50.0, seconds=30.0) == replace(PROMISED, owner="b", lease_until=80.0)


async def test_a_lease_from_a_clock_that_was_set_back_holds_nobody_up(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    assert await handles.two.claim_promised(CALL.id, owner="b", now=-1000.0, seconds=30.0) is not None


async def test_a_parked_one_is_anybodys_and_says_what_it_waits_for(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    await handles.one.park_promised(CALL.id, owner="b", now=11.0, waits_for="prm_of_b")
    await handles.one.park_promised(CALL.id, owner="a", now=12.0, waits_for="prm")
    assert await handles.two.promised(CALL.id, PRINCIPAL) == replace(PROMISED, updated_at=12.0, waits_for="prm")
    assert await handles.two.claim_promised(CALL.id, owner="b", now=13.0, seconds=30.0) is not None


async def test_its_beginning_is_written_with_the_audit_and_the_use_of_rulings_or_not_at_all(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    once = a_ruling(ROOT, reach=Reach.ONCE)
    await handles.one.add_rulings([once], ())
    assert await handles.one.begin_promised(CALL.id, owner="a", now=11.0, events=(BEGUN,), uses=[once.id])
    found = await handles.two.promised(CALL.id, PRINCIPAL)
    assert found is not None
    assert (found.begun, found.owner, found.updated_at) == (True, "a", 11.0)
    assert not await handles.one.begin_promised(CALL.id, owner="a", now=12.0, events=(OVER,), uses=[once.id])
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["begun"]


async def test_its_end_is_written_once_with_the_audit(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    await handles.one.end_promised(CALL.id, owner="a", now=11.0, ended=ENDED, events=(OVER,))
    await handles.one.end_promised(CALL.id, owner="a", now=12.0, ended=None, fault="late", events=(OVER,))
    found = await handles.two.promised(CALL.id, PRINCIPAL)
    assert found is not None
    assert (found.ended, found.fault, found.updated_at) == (ENDED, None, 11.0)
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["over"]
    assert await handles.two.claim_promised(CALL.id, owner="b", now=99.0, seconds=30.0) is None
    assert await handles.two.promised_open() == ()


async def test_whoever_does_not_hold_it_neither_begins_nor_ends_it(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    assert await handles.two.claim_promised(CALL.id, owner="b", now=50.0, seconds=30.0) is not None
    with pytest.raises(LeaseLost):
        await handles.one.begin_promised(CALL.id, owner="a", now=51.0, events=(BEGUN,), uses=[])
    with pytest.raises(LeaseLost):
        await handles.one.end_promised(CALL.id, owner="a", now=51.0, ended=ENDED, events=(OVER,))
    found = await handles.two.promised(CALL.id, PRINCIPAL)
    assert found is not None
    assert (found.begun, found.is_over) == (False, False)
    assert await handles.two.audit_log() == ()


async def test_prompts_put_off_add_up_and_the_first_to_cancel_is_noted_while_it_is_held(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    await handles.two.put_off_promised(CALL.id, PRINCIPAL, [PromptId("x")], now=11.0)
    await handles.two.put_off_promised(CALL.id, PRINCIPAL, [PromptId("y"), PromptId("x")], now=12.0)
    await handles.two.cancel_promised(CALL.id, PRINCIPAL, "first", now=13.0)
    await handles.two.cancel_promised(CALL.id, PRINCIPAL, "second", now=14.0)
    found = await handles.one.promised(CALL.id, PRINCIPAL)
    assert found is not None
    assert (found.put_off, found.cancel_requested, found.owner, found.updated_at) == (("x", "y"), "first", "a", 13.0)


async def test_what_was_over_for_long_is_dropped(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    assert await handles.one.drop_promised(ended_before=1000.0) == 0
    await handles.one.end_promised(CALL.id, owner="a", now=11.0, ended=ENDED)
    assert await handles.one.drop_promised(ended_before=11.0) == 0
    assert await handles.one.drop_promised(ended_before=11.1) == 1
    assert await handles.two.promised(CALL.id, PRINCIPAL) is None


async def test_once_it_is_over_it_goes_with_the_tree_of_its_root(handles: Handles) -> None:
    await _kept(handles, held_by="a")
    assert await handles.one.forget_tree(ROOT.id) == ()
    await handles.one.end_promised(CALL.id, owner="a", now=11.0, ended=ENDED)
    assert await handles.one.forget_tree(ROOT.id) == (ROOT.id,)
    assert await handles.two.promised(CALL.id, PRINCIPAL) is None
