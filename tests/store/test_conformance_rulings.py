from dataclasses import replace

import pytest

from mcp_server.errors import StoreError
from mcp_server.policy.values import Action, Reach
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import RulingRecord
from tests.store.conformance import Handles
from tests.store.samples import PRINCIPAL, STRANGER, a_ruling, a_session, an_event

ROOT = a_session()
OTHER = a_session("other")


async def _given(handles: Handles, *rulings: RulingRecord) -> None:
    for session in (ROOT, OTHER, a_session("theirs", principal=STRANGER)):
        await handles.one.add_session(session)
    await handles.one.add_rulings(rulings, (an_event(ROOT, "given"),))


async def _standing(handles: Handles, at: float) -> list[str]:
    return [ruling.id for ruling in await handles.two.rulings(principal=PRINCIPAL, standing_at=at)]


async def test_a_ruling_reads_back_as_it_was_written(handles: Handles) -> None:
    ruling = a_ruling(ROOT, reach=Reach.TREE, expires_at=9.5, action=Action.DENY)
    await _given(handles, ruling)
    (found,) = await handles.two.rulings(principal=PRINCIPAL)
    assert found == ruling
    assert found.action is Action.DENY
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["given"]


async def test_rulings_are_listed_by_principal_and_session_oldest_first(handles: Handles) -> None:
    theirs = a_session("theirs", principal=STRANGER)
    await _given(
        handles,
        a_ruling(OTHER, "late", created_at=8.0),
        a_ruling(ROOT, "early", created_at=2.0),
        a_ruling(theirs, "foreign"),
    )

    async def ids(**wanted: object) -> list[str]:
        found = await handles.two.rulings(principal=PRINCIPAL, **wanted)  # pyright: ignore[reportArgumentType] - any subset
        return [ruling.id for ruling in found]

    assert await ids() == ["early", "late"]
    assert await ids(session_ids=(OTHER.id, theirs.id)) == ["late"]
    assert await ids(session_ids=()) == []
    assert [ruling.id for ruling in await handles.two.rulings(principal=STRANGER)] == ["foreign"]


async def test_a_standing_ruling_is_counted_at_each_use(handles: Handles) -> None:
    ruling = a_ruling(ROOT)
    await _given(handles, ruling)
    assert await handles.one.use_rulings((ruling.id, ruling.id), now=2.0, events=(an_event(ROOT, "one"),))
    assert await handles.two.use_rulings((ruling.id,), now=3.0, events=(an_event(ROOT, "two"),))
    assert await handles.one.rulings(principal=PRINCIPAL) == (replace(ruling, used=2),)
    assert [stored.event.outcome for stored in await handles.one.audit_log()] == ["given", "one", "two"]


async def test_once_is_used_once(handles: Handles) -> None:
    ruling = a_ruling(ROOT, reach=Reach.ONCE)
    await _given(handles, ruling)
    assert await _standing(handles, 2.0) == [ruling.id]
    assert await handles.one.use_rulings((ruling.id,), now=2.0, events=())
    assert not await handles.two.use_rulings((ruling.id,), now=2.0, events=(an_event(ROOT, "again"),))
    assert await _standing(handles, 2.0) == []
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["given"]


async def test_a_ruling_that_ends_does_not_stand_before_it_was_given(handles: Handles) -> None:
    """The clock was set back: nobody knows how long it has stood."""
    ending = a_ruling(ROOT, "ending", created_at=1_000.0, expires_at=2_000.0)
    lasting = a_ruling(ROOT, "lasting", created_at=1_000.0, action=Action.DENY)
    await _given(handles, ending, lasting)
    assert await _standing(handles, 1_500.0) == ["ending", "lasting"]
    assert await _standing(handles, 900.0) == ["lasting"]
    assert not await handles.one.use_rulings((ending.id,), now=900.0, events=())


@pytest.mark.parametrize("by_use", [True, False], ids=["a use", "any event"])
async def test_a_clock_set_back_ends_what_would_have_ended_and_nothing_later_brings_it_back(handles: Handles, by_use: bool) -> None:
    ending = a_ruling(ROOT, "ending", created_at=1_000.0, expires_at=9_000.0)
    lasting = a_ruling(ROOT, "lasting", created_at=1_000.0, action=Action.DENY)
    await _given(handles, ending, lasting)
    await handles.two.audit((replace(an_event(ROOT, "late"), at=8_000.0),))
    assert await _standing(handles, 7_990.0) == ["ending", "lasting"], "a writer may have waited for its turn"
    if by_use:
        assert not await handles.one.use_rulings((ending.id,), now=2_000.0, events=())
    else:
        await handles.one.audit((replace(an_event(ROOT, "back"), at=2_000.0),))
    assert await _standing(handles, 2_000.0) == ["lasting"]
    assert await _standing(handles, 8_500.0) == ["lasting"]
    later = a_ruling(ROOT, "later", created_at=2_000.0, expires_at=3_000.0)
    await handles.one.add_rulings((later,), (replace(an_event(ROOT, "anew"), at=2_000.0),))
    assert await handles.one.use_rulings((later.id,), now=2_001.0, events=())


async def test_a_ruling_stands_until_the_second_it_expires(handles: Handles) -> None:
    ruling = a_ruling(ROOT, expires_at=10.0)
    await _given(handles, ruling)
    assert (await _standing(handles, 9.9), await _standing(handles, 10.0)) == ([ruling.id], [])
    assert await handles.two.use_rulings((ruling.id,), now=9.9, events=())
    assert not await handles.two.use_rulings((ruling.id,), now=10.0, events=())


async def test_a_revoked_ruling_never_stands_again_even_by_a_slow_clock(handles: Handles) -> None:
    ruling = a_ruling(ROOT)
    await _given(handles, ruling)
    assert await handles.one.revoke(ruling.id, principal=PRINCIPAL, now=7.0, events=(an_event(ROOT, "revoked"),))
    assert not await handles.two.revoke(ruling.id, principal=PRINCIPAL, now=8.0, events=(an_event(ROOT, "again"),))
    assert await _standing(handles, 1.0) == []
    assert not await handles.two.use_rulings((ruling.id,), now=1.0, events=())
    assert await handles.two.rulings(principal=PRINCIPAL) == (replace(ruling, revoked_at=7.0),)
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["given", "revoked"]


async def test_a_foreign_ruling_cannot_be_revoked(handles: Handles) -> None:
    ruling = a_ruling(ROOT)
    await _given(handles, ruling)
    assert not await handles.one.revoke(ruling.id, principal=STRANGER, now=7.0, events=(an_event(ROOT, "revoked"),))
    assert await _standing(handles, 8.0) == [ruling.id]


@pytest.mark.parametrize("missing", ["unknown", "\ud800"])
async def test_where_one_ruling_does_not_stand_none_is_used(handles: Handles, missing: str) -> None:
    ruling = a_ruling(ROOT)
    await _given(handles, ruling)
    assert not await handles.one.use_rulings((ruling.id, RulingId(missing)), now=2.0, events=(an_event(ROOT, "used"),))
    assert await handles.two.rulings(principal=PRINCIPAL) == (ruling,)
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["given"]


async def test_using_no_ruling_writes_the_events(handles: Handles) -> None:
    await _given(handles)
    assert await handles.one.use_rulings((), now=2.0, events=(an_event(ROOT, "used"),))
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["given", "used"]


async def test_rulings_that_cannot_all_be_added_are_not_added_at_all(handles: Handles) -> None:
    await _given(handles)
    with pytest.raises(StoreError):
        await handles.one.add_rulings((a_ruling(ROOT, "a"), a_ruling(ROOT, "a")), (an_event(ROOT, "added"),))
    with pytest.raises(StoreError):
        await handles.one.add_rulings((a_ruling(ROOT, "b", principal=STRANGER),), (an_event(ROOT, "added"),))
    assert await handles.two.rulings(principal=PRINCIPAL) == ()
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["given"]
