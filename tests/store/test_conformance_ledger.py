import pytest

from mcp_server.errors import LeaseLost, NoPlace
from mcp_server.records import Completed, RunState
from mcp_server.store.ledger import Charge, DayUse, Place, day_of
from mcp_server.store.protocol import Lease
from tests.store.conformance import Handles
from tests.store.samples import a_run, a_session, an_event

MIDNIGHT = 1_799_971_200.0
ROOT = a_session()
ALICE, TEAM = '["person","https://login.example.org","al\'ice"]', '["team","payments"]'


def charge(*accounts: str, tokens: int = 10, cost: float = 0.5) -> Charge:
    return Charge(accounts=accounts, tokens=tokens, cost=cost)


def test_a_day_ends_at_midnight_of_utc() -> None:
    assert [day_of(MIDNIGHT - 0.001), day_of(MIDNIGHT)] == ["2027-01-14", "2027-01-15"]


async def test_what_is_used_adds_up_by_account_and_day(handles: Handles) -> None:
    await handles.one.charge(charge(ALICE, TEAM), at=MIDNIGHT - 1)
    await handles.two.charge(charge(ALICE, tokens=5, cost=0.25), at=MIDNIGHT - 2)
    await handles.one.charge(charge(ALICE, tokens=1, cost=0.0), at=MIDNIGHT)
    assert await handles.two.day_use("2027-01-14") == {ALICE: DayUse(tokens=15, cost=0.75), TEAM: DayUse(tokens=10, cost=0.5)}
    assert await handles.two.used([ALICE, TEAM], day="2027-01-15") == {ALICE: DayUse(tokens=1), TEAM: DayUse()}


async def test_days_before_one_are_dropped(handles: Handles) -> None:
    for at in (MIDNIGHT - 1, MIDNIGHT):
        await handles.one.charge(charge(ALICE, TEAM), at=at)
    assert await handles.two.drop_use(before="2027-01-15") == 2
    assert (await handles.one.day_use("2027-01-14"), len(await handles.one.day_use("2027-01-15"))) == ({}, 2)


async def test_a_turn_is_counted_with_the_run_that_is_saved_or_not_at_all(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    await handles.one.add_run(a_run(ROOT), ())
    lease = await handles.one.claim(a_run(ROOT).id, owner="a", now=1.0, seconds=30.0)
    assert lease is not None
    assert await handles.one.save_run(a_run(ROOT), lease, now=MIDNIGHT, charge=charge(ALICE))
    with pytest.raises(LeaseLost):
        await handles.two.save_run(a_run(ROOT), Lease(run_id=lease.run_id, owner="b", fence=9), now=MIDNIGHT, charge=charge(ALICE))
    assert await handles.two.day_use("2027-01-15") == {ALICE: DayUse(tokens=10, cost=0.5)}


async def test_a_run_finds_a_place_or_is_not_begun_and_leaves_it_when_it_ends(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    one, two = a_session("one", parent=ROOT), a_session("two", parent=ROOT)
    places = [Place(account=ALICE, most=None), Place(account=TEAM, most=1)]
    await handles.one.add_child(one, a_run(one, "first"), (), (), places)
    with pytest.raises(NoPlace) as full:
        await handles.two.add_child(two, a_run(two, "second"), (), (an_event(two),), places)
    assert (full.value.account, full.value.taken) == (TEAM, 1)
    assert await handles.one.children(ROOT.id) == (one,)
    assert await handles.one.counted_runs() == {ALICE: 1, TEAM: 1}
    lease = await handles.one.claim(a_run(one, "first").id, owner="a", now=1.0, seconds=30.0)
    assert lease is not None
    done = a_run(one, "first", state=RunState.COMPLETED, outcome=Completed(result="x"))
    await handles.one.save_run(done, lease, now=2.0)
    assert await handles.two.counted_runs() == {}
    await handles.two.add_child(two, a_run(two, "second"), (), (), places)
    with pytest.raises(NoPlace):
        await handles.one.resume_child(one, a_run(one, "third"), (), (), places)
    assert await handles.one.resume_child(one, a_run(one, "third"), (), (), places[:1])
    assert await handles.two.counted_runs() == {ALICE: 2, TEAM: 1}
