"""A client's own calls pass the same gate as any child's: asked, answered, continued, and counted."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_server.principal import LOCAL
from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice
from mcp_server.sessions.view import ORPHANS
from mcp_server.sessions.wakeups import Wakeups
from mcp_server.settings.values import Flags
from tests.behaviour.stories import NEAR, answer_all, bounded, calls, content_of, each_era, errand, leaving_soon, says, until_told, write
from tests.behaviour.world import Connected, World, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, accepts, decides

TOUCH: dict[str, Any] = {"command": "touch mark", "description": "Makes a mark"}
SOON = {"limits": {"task_wait": 0.3}}


async def wrote(connected: Connected, path: str = "a.txt", content: str = "x") -> str:
    return text_of(await bounded(connected.call("write", filePath=path, content=content)))


def exists(world: World, name: str) -> bool:
    return (world.workspace / name).exists()


@each_era
async def test_a_clients_own_write_asks_and_happens_when_allowed(cell: Cell, tmp_path: Path) -> None:
    world = make_world(tmp_path)
    person = Person(decides("allow_once"))
    async with connect(world, cell, person=person) as connected:
        await wrote(connected)
    assert (world.workspace / "a.txt").read_text() == "x"
    assert [form.message.splitlines()[0] for form in person.forms] == ["build wants to use write:"]


@each_era
async def test_without_forms_the_same_call_again_continues_and_a_later_one_asks_anew(cell: Cell, tmp_path: Path) -> None:
    world, timing = make_world(tmp_path), Timing()
    async with connect(world, cell, timing=timing) as connected:
        with leaving_soon(timing):
            waiting = await until_told(connected, "bash", **TOUCH)
        (prompt,) = await connected.open_prompts()
        assert f"remit approvals approve {prompt.id}" in text_of(waiting)
        assert "make the same call again" in text_of(waiting)
        assert not waiting.is_error
        assert waiting.structured_content is not None
        assert waiting.structured_content["waiting"] is True
        await answer_all(connected.store, [prompt])
        assert not exists(world, "mark"), "nothing happens while nobody waits for it"
        done = await bounded(connected.call("bash", **TOUCH))
        assert "(exit code 0)" in text_of(done)
        assert exists(world, "mark")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: connected.call("bash", **TOUCH))
            (second,) = await connected.open_prompts()
            assert second.id != prompt.id
            group.cancel_scope.cancel()


async def test_calls_of_one_digest_share_a_prompt_and_once_covers_exactly_those(tmp_path: Path) -> None:
    script = {"general": [calls(("bash", TOUCH), ("bash", TOUCH)), calls(("bash", TOUCH)), says("{{results[0].text}}")]}
    world = make_world(tmp_path, script=script)
    person = Person(decides("allow_once"), decides("deny"))
    async with connect(world, NEAR, person=person) as connected:
        result = await bounded(connected.call("task", **errand("general")))
        done = [event.outcome for event in await connected.audit() if event.tool == "bash" and event.kind == "outcome"]
    assert "2 calls, all the same, wait for this answer." in person.forms[0].message
    assert "all the same" not in person.forms[1].message
    endings = [outcome.partition(", in ")[0] for outcome in done]  # what follows is where it ran
    assert endings == ["done", "done", "denied by the person"]
    assert "denied by the person" in text_of(result)


@each_era
async def test_a_question_is_answered_in_words_and_permits_nothing(cell: Cell, tmp_path: Path) -> None:
    asked = {"questions": [{"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}]}
    script = {"general": [calls(("question", asked)), says("told: {{results[0].text}}")]}
    world = make_world(tmp_path, script=script)
    person = Person(accepts(answer_1="blue"), accepts(answer_1_own="a dark green"))
    async with connect(world, cell, person=person) as connected:
        own = await bounded(connected.call("question", **asked))
        child = await bounded(connected.call("task", **errand("general")))
        assert await connected.store.rulings(principal=LOCAL.key) == ()
    assert text_of(own) == "The person answered:\nWhich colour? → blue"
    assert "a dark green" in text_of(child)
    assert "build › general asks you:" in person.forms[1].message


async def test_only_a_call_that_leaves_something_to_be_answered_has_other_requests_look_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each of many that wait would look at the end of every other one."""
    rung, ring = list[tuple[str, ...]](), Wakeups.ring

    def heard(wakeups: Wakeups, *keys: str) -> None:
        rung.append(keys)
        ring(wakeups, *keys)

    monkeypatch.setattr(Wakeups, "ring", heard)
    async with connect(make_world(tmp_path, settings=SOON), NEAR) as connected:
        await bounded(connected.call("todoread"))
        assert (ORPHANS,) not in rung
        assert "waits for a person" in await wrote(connected)
        assert (ORPHANS,) in rung


async def test_dont_ask_denies_what_would_ask(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person, flags=Flags(mode="dontAsk")) as connected:
        assert (await wrote(connected)).startswith("nobody could be asked: ")
        assert "print('a')" in text_of(await bounded(connected.call("read", filePath="src/a.py")))
    assert person.forms == []
    assert not exists(world, "a.txt")


async def test_the_guard_asks_whatever_the_mode_and_takes_once_only(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={".env": "KEY=1\n", "a.txt": "a\n"})
    person = Person(decides("allow_once"), decides("deny"))
    async with connect(world, NEAR, person=person, flags=Flags(mode="bypassPermissions")) as connected:
        await wrote(connected, "new.txt")
        assert exists(world, "new.txt")
        assert "KEY=1" in text_of(await bounded(connected.call("read", filePath=".env")))
        assert (await wrote(connected, ".git/hooks/post-commit")).startswith("denied by the person")
    assert not exists(world, ".git")
    offered = [[one["const"] for one in form.requested_schema["properties"]["decision"]["oneOf"]] for form in person.forms]
    assert offered[1] == ["allow_once", "deny", "deny_session"]


async def test_a_revoked_ruling_is_not_heard_any_more(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    person = Person(decides("allow_session"), decides("deny"))
    async with connect(world, NEAR, person=person) as connected:
        await wrote(connected)
        await wrote(connected)
        assert len(person.forms) == 1
        (ruling,) = await connected.store.rulings(principal=LOCAL.key)
        terminal = world.store()
        assert await terminal.revoke(ruling.id, principal=LOCAL.key, now=ruling.created_at + 1, events=())
        await terminal.close()
        assert (await wrote(connected)).startswith("denied by the person")
    assert len(person.forms) == 2


async def test_a_deny_for_the_session_stands_until_it_is_revoked(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    person = Person(decides("deny_session"), decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        assert (await wrote(connected)).startswith("denied by the person")
        assert (await wrote(connected)).startswith("denied by rule: ")
        (ruling,) = await connected.store.rulings(principal=LOCAL.key)
        await connected.store.revoke(ruling.id, principal=LOCAL.key, now=ruling.created_at + 1, events=())
        await wrote(connected)
    assert exists(world, "a.txt")


async def test_changed_settings_apply_at_the_next_decision_and_broken_ones_do_not(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"permission": {"edit": "allow"}})
    file = world.places.config / "settings.yaml"
    async with connect(world, NEAR) as connected:
        await wrote(connected, "a.txt")
        file.write_text("permission: {edit: deny}\n")
        assert (await wrote(connected, "b.txt")).startswith("denied by rule: ")
        file.write_text("permision: {edit: allow}\n")
        assert (await wrote(connected, "c.txt")).startswith("denied by rule: ")
        file.write_text("permission: {edit: allow}\n")
        await wrote(connected, "d.txt")
    assert [name for name in ("a.txt", "b.txt", "c.txt", "d.txt") if exists(world, name)] == ["a.txt", "d.txt"]


async def test_a_session_tells_who_it_is_and_what_stands(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"permission": {"bash": {"git push": "deny"}}})
    async with connect(world, NEAR, person=Person(decides("allow_tree"))) as connected:
        await wrote(connected)
        told = await bounded(connected.call("session_info"))
    info = content_of(told)
    assert (info["agent"], info["agent_path"], info["mode"]) == ("build", ["build"], "default")
    assert [(ruling["reach"], ruling["rule"], ruling["used"]) for ruling in info["rulings"]] == [("tree", "edit a.txt allow", 1)]
    assert ("bash git push deny", "user settings") in [(rule["rule"], rule["owner"]) for rule in info["denies"]]


async def test_three_calls_at_once_of_one_client_are_each_answered(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                for name in "abc":
                    group.start_soon(wrote, connected, name)
    assert all(exists(world, name) for name in "abc")


async def test_a_deny_of_a_prompt_from_elsewhere_is_the_persons_too(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=SOON)
    async with connect(world, NEAR) as connected:
        await until_told(connected, "write", **write()[1])
        await answer_all(connected.store, await connected.open_prompts(), Choice.DENY)
        assert (await until_told(connected, "write", **write()[1])).is_error
    assert not exists(world, "out.txt")


@pytest.mark.parametrize("wish", ["digest", "redacted"])
async def test_the_audit_holds_arguments_only_where_settings_say_so_and_never_a_secret(wish: str, tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"audit": {"arguments": wish}})
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        await bounded(connected.call("write", filePath="notes.txt", content="DB_PASSWORD=hunter22 and more"))
        decisions = [stored.event for stored in await connected.store.audit_log() if stored.event.kind == "decision"]
    assert decisions
    assert {bool(event.digest) for event in decisions} == {True}
    held = [event.arguments for event in decisions]
    if wish == "digest":
        assert set(held) == {""}
    else:
        assert all('"filePath": "notes.txt"' in text and "and more" in text for text in held)
    assert "hunter22" not in str(decisions)
