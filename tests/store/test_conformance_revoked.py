from mcp_server.policy.verdicts import SessionId
from mcp_server.records import AuditEvent
from mcp_server.store.revoked import Revoked
from tests.store.conformance import Handles

ALICE = '["https://login.example.org","alice",'
EDITOR = f'{ALICE}"editor"]'


async def test_the_latest_moment_of_any_of_the_names_counts_for_every_process(handles: Handles) -> None:
    assert await handles.two.revoked_at([ALICE, EDITOR]) is None
    event = AuditEvent(at=5.0, kind="session", principal=EDITOR, session_id=SessionId(""), session_path=(), outcome="revoked")
    await handles.one.revoke_all_of(EDITOR, at=5.0, events=[event])
    await handles.one.revoke_all_of(ALICE, at=4.0)
    assert await handles.two.revoked_at([ALICE, EDITOR]) == 5.0
    assert await handles.two.revoked_at([ALICE]) == 4.0
    assert await handles.two.revoked_at(["alice", "", "\ud800"]) is None
    assert [stored.event for stored in await handles.two.audit_log()] == [event]


async def test_those_that_came_later_are_told_in_their_order_whatever_clocks_said(handles: Handles) -> None:
    await handles.one.revoke_all_of(EDITOR, at=5.0)
    await handles.two.revoke_all_of(ALICE, at=4.0)
    first, second = await handles.one.revoked_after(0)
    assert (first, second) == (Revoked(seq=1, name=EDITOR, at=5.0), Revoked(seq=2, name=ALICE, at=4.0))
    assert await handles.one.revoked_after(first.seq) == (second,)
    assert await handles.one.revoked_after(second.seq) == ()
