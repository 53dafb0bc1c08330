from dataclasses import replace

import pytest

from mcp_server.errors import StoreError
from mcp_server.policy.values import Mode
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import TokenPrincipal
from tests.store.conformance import Handles
from tests.store.samples import PRINCIPAL, STRANGER, a_prompt, a_ruling, a_run, a_session, an_event


async def test_a_session_reads_back_as_it_was_written(handles: Handles) -> None:
    root = a_session(title="ünïcode › \x00", mode=Mode.ACCEPT_EDITS, narrowed=(), ended_at=3.5)
    await handles.one.add_session(root)
    assert await handles.two.session("root", PRINCIPAL) == root


@pytest.mark.parametrize("session_id", ["unknown", "", "\ud800", "a\x00", "x" * 100_000, "' OR 1=1 --", "%"])
async def test_an_unknown_or_malformed_id_finds_nothing(handles: Handles, session_id: str) -> None:
    await handles.one.add_session(a_session())
    found = (
        await handles.one.session(session_id, PRINCIPAL),
        await handles.one.prompt(session_id, PRINCIPAL),
        await handles.one.chain(SessionId(session_id)),
        await handles.one.transcript(SessionId(session_id)),
        await handles.one.latest_run(SessionId(session_id)),
        await handles.one.revoke(session_id, principal=PRINCIPAL, now=1.0, events=()),
    )
    assert found == (None, None, (), (), None, False)


async def test_a_foreign_session_is_as_good_as_none(handles: Handles) -> None:
    await handles.one.add_session(a_session())
    await handles.one.add_session(a_session("theirs", principal=STRANGER))
    assert await handles.two.session("root", STRANGER) is None
    assert [session.id for session in await handles.two.sessions(STRANGER)] == ["theirs"]


async def test_principals_are_found_by_how_they_begin_each_once_and_nobody_elses(handles: Handles) -> None:
    def key(issuer: str, subject: str, client: str) -> str:
        return TokenPrincipal(issuer=issuer, subject=subject, client=client).key

    ada = TokenPrincipal(issuer="https://i", subject="ada", client="editor")
    theirs = [ada.key, key("https://i", "ada", "a, b"), key("https://i", "ada", "ünï")]
    others = [
        key("https://i", "ada2", "editor"),
        key("https://i", 'ada","editor', "editor"),
        key("https://i", "ad", "editor"),
        key("https://i/", "ada", "editor"),
        key("https://j", "ada", "editor"),
        PRINCIPAL,
    ]
    for number, principal in enumerate([*theirs, *others, *theirs]):
        await handles.one.add_session(a_session(f"s{number}", principal=principal))
    assert await handles.two.principals(ada.beginning) == tuple(sorted(theirs))
    assert await handles.two.principals('["https://nobody",') == ()


async def test_an_id_is_given_once(handles: Handles) -> None:
    await handles.one.add_session(a_session(title="first"))
    with pytest.raises(StoreError, match="does not fit what it holds"):
        await handles.two.add_session(a_session(title="second", principal=STRANGER))
    assert await handles.two.session("root", PRINCIPAL) == a_session(title="first")


async def test_a_chain_is_the_session_and_its_ancestors_root_first(handles: Handles) -> None:
    root = a_session()
    child = a_session("child", parent=root)
    grandchild = a_session("grandchild", parent=child)
    for session in (root, child, grandchild, a_session("sibling", parent=root)):
        await handles.one.add_session(session)
    assert await handles.two.chain(grandchild.id) == (root, child, grandchild)
    assert await handles.two.chain(root.id) == (root,)


async def test_children_are_the_direct_ones_oldest_first(handles: Handles) -> None:
    root = a_session()
    young = a_session("young", parent=root, created_at=9.0)
    old = a_session("old", parent=root, created_at=2.0)
    for session in (root, young, old, a_session("deep", parent=old)):
        await handles.one.add_session(session)
    assert await handles.two.children(root.id) == (old, young)


async def test_sessions_are_listed_newest_first_and_can_be_limited_to_a_workspace(handles: Handles) -> None:
    for place in range(4):
        await handles.one.add_session(a_session(f"s{place}", created_at=float(place), workspace="/w" if place % 2 else "/other"))
    assert [session.id for session in await handles.two.sessions(PRINCIPAL, limit=3)] == ["s3", "s2", "s1"]
    assert [session.id for session in await handles.two.sessions(PRINCIPAL, workspace="/other")] == ["s2", "s0"]
    assert await handles.two.sessions(PRINCIPAL, workspace="/nowhere") == ()


async def test_roots_are_found_behind_any_number_of_children(handles: Handles) -> None:
    root = a_session(created_at=1.0)
    await handles.one.add_session(root)
    for place in range(5):
        await handles.one.add_session(a_session(f"c{place}", parent=root, created_at=2.0 + place))
    assert await handles.two.sessions(PRINCIPAL, roots=True, limit=2) == (root,)


async def test_sessions_of_one_instant_are_listed_in_the_order_of_their_making(handles: Handles) -> None:
    for name in ("z", "a", "m"):
        await handles.one.add_session(a_session(name))
    assert [session.id for session in await handles.two.sessions(PRINCIPAL)] == ["m", "a", "z"]


async def test_a_session_can_be_changed_by_its_principal_alone(handles: Handles) -> None:
    await handles.one.add_session(a_session())
    changed = a_session(title="new", ended_at=7.0)
    await handles.one.update_session(changed)
    with pytest.raises(StoreError, match="not that principal's"):
        await handles.one.update_session(replace(changed, principal=STRANGER))
    assert await handles.two.session("root", PRINCIPAL) == changed


async def test_a_session_cannot_hang_below_one_of_another_principal(handles: Handles) -> None:
    root = a_session(principal=STRANGER)
    await handles.one.add_session(root)
    with pytest.raises(StoreError):
        await handles.one.add_session(a_session("child", parent=root))
    assert await handles.two.children(root.id) == ()


async def test_a_session_that_moves_takes_its_descendants_and_theirs_along(handles: Handles) -> None:
    old, new = a_session("old"), a_session("new", root_agent="plan", agent="plan")
    child = a_session("child", parent=old)
    deep = a_session("deep", parent=child)
    for session in (old, new, child, deep):
        await handles.one.add_session(session)
    await handles.one.add_run(a_run(deep), ())
    await handles.one.add_prompt(a_prompt(deep))
    await handles.one.add_rulings((a_ruling(deep),), (an_event(deep),))

    moved = replace(child, parent_id=new.id, root_id=new.id, root_agent="plan")
    await handles.one.update_session(moved)

    assert await handles.two.chain(deep.id) == (new, moved, replace(deep, root_id=new.id, root_agent="plan"))
    assert await handles.two.unfinished_runs(root_id=new.id) == (a_run(deep, root_id=new.id),)
    assert await handles.two.prompts(root_id=new.id) == (a_prompt(deep, root_id=new.id),)
    assert [ruling.root_id for ruling in await handles.two.rulings(principal=PRINCIPAL)] == [new.id]
    assert await handles.two.unfinished_runs(root_id=old.id) == ()
    assert [stored.event.session_id for stored in await handles.two.audit_log(root_id=old.id)] == [deep.id]


async def test_a_session_cannot_become_its_own_ancestor(handles: Handles) -> None:
    root = a_session()
    child = a_session("child", parent=root)
    deep = a_session("deep", parent=child)
    for session in (root, child, deep):
        await handles.one.add_session(session)
    for parent in (child, deep):
        with pytest.raises(StoreError, match="its own descendant"):
            await handles.one.update_session(replace(child, parent_id=parent.id))
    assert await handles.two.chain(deep.id) == (root, child, deep)


async def test_state_is_kept_by_session_and_key(handles: Handles) -> None:
    await handles.one.add_session(a_session())
    await handles.one.add_session(a_session("other"))
    await handles.one.set_state(SessionId("root"), "todo", "[]")
    await handles.one.set_state(SessionId("root"), "todo", '["\x00 ›"]')
    await handles.one.set_state(SessionId("root"), "stamps", "")
    assert await handles.two.state(SessionId("root"), "todo") == '["\x00 ›"]'
    assert await handles.two.state(SessionId("root"), "stamps") == ""
    assert await handles.two.state(SessionId("other"), "todo") is None


async def test_a_value_that_is_not_text_for_a_column_is_refused_and_nothing_is_lost(handles: Handles) -> None:
    await handles.one.add_session(a_session())
    with pytest.raises(StoreError, match="cannot be stored"):
        await handles.one.set_state(SessionId("root"), "todo", "\ud800")
    assert await handles.two.state(SessionId("root"), "todo") is None


async def test_any_commit_anywhere_shows_as_changed(handles: Handles) -> None:
    numbers = [await handles.two.changed()]
    await handles.one.add_session(a_session())
    numbers.append(await handles.two.changed())
    await handles.two.set_state(SessionId("root"), "k", "v")
    numbers.append(await handles.two.changed())
    assert len(set(numbers)) == 3


async def test_looking_and_losing_do_not_show_as_changed(handles: Handles) -> None:
    root = a_session()
    await handles.one.add_session(root)
    await handles.one.add_run(a_run(root), ())
    await handles.one.claim(a_run(root).id, owner="a", now=1.0, seconds=10.0)
    before = await handles.one.changed(), await handles.two.changed()
    await handles.one.chain(root.id)
    assert await handles.two.claim(a_run(root).id, owner="b", now=2.0, seconds=10.0) is None
    assert (await handles.one.changed(), await handles.two.changed()) == before
