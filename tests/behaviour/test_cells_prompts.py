"""In every cell a child two levels down asks, and whatever becomes of its question is told as exactly that."""

from pathlib import Path

import anyio
import pytest

from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice, PromptState
from mcp_server.sessions.answers import close_with
from tests.behaviour.stories import (
    PATH,
    TEAM,
    bounded,
    calls,
    closed_prompt,
    content_of,
    errand,
    refused_in,
    says,
    send,
    state_of,
    team_world,
    typed,
    until_ended,
    until_told,
    write,
)
from tests.behaviour.world import connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import CELLS, Act, Cell, Person, accepts, after, decides, declines, each_cell, stares

TWICE = (calls(write("a.txt")), calls(write("a.txt", "again")), says("{{results[0].text}}"))


def titles(person: Person) -> dict[str, str]:
    return {one["const"]: one["title"] for one in person.forms[0].requested_schema["properties"]["decision"]["oneOf"]}


@each_cell
async def test_allow_once_lets_that_call_happen(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(decides("allow_once"))
    async with connect(world, cell, person=person) as connected:
        result = await bounded(connected.call("task", **errand("lead")))
    assert (world.workspace / "out.txt").read_text() == "hello"
    assert (state_of(result), refused_in(result)) == ("completed", [])
    (form,) = person.forms
    assert form.message.splitlines()[0] == f"{PATH} wants to use write:"
    assert "Needs: edit out.txt" in form.message


@each_cell
async def test_allow_for_the_session_shows_its_rule_and_is_used_again_without_a_second_prompt(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, *TWICE)
    person = Person(decides("allow_session"))
    async with connect(world, cell, person=person) as connected:
        result = await bounded(connected.call("task", **errand("lead")))
    assert titles(person)["allow_session"] == "Allow for this subagent: `edit a.txt allow`"
    assert titles(person)["allow_tree"] == "Allow for it and its subagents: `edit a.txt allow`"
    assert (world.workspace / "a.txt").read_text() == "again"
    assert (state_of(result), refused_in(result), len(person.forms)) == ("completed", [], 1)


@each_cell
async def test_a_denial_reaches_the_model_in_the_persons_own_words(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, cell, person=Person(decides("deny", "not before lunch"))) as connected:
        result = await bounded(connected.call("task", **errand("lead")))
    assert not (world.workspace / "out.txt").exists()
    assert "denied by the person: the person says: not before lunch" in text_of(result)
    assert (state_of(result), refused_in(result)) == ("completed", [(PATH, "write", "denied by the person")])


@each_cell
async def test_a_prompt_that_nobody_answers_expires_and_says_so(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={"limits": {"prompt_deadline": 0.3}})
    person = Person()
    async with connect(world, cell, person=person) as connected:
        person.acts = [after(lambda: closed_prompt(connected.store), decides("allow_once"))]
        result = await bounded(connected.call("task", **errand("lead")))
    assert not (world.workspace / "out.txt").exists(), "an answer that comes too late changes nothing"
    assert (state_of(result), refused_in(result)) == ("completed", [(PATH, "write", "nobody answered in time")])
    assert "the question was shown and not answered within 0.3 s" in text_of(result)


@each_cell
async def test_a_client_that_cannot_be_asked_is_answered_from_a_terminal(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={"limits": {"task_wait": 0.3}})
    async with connect(world, cell) as connected:
        waiting = await until_told(connected, "task", **errand("lead"))
        (prompt,) = await connected.open_prompts()
        assert (state_of(waiting), waiting.is_error) == ("waiting", False)
        assert f"{PATH}: edit out.txt (a person answers with `remit console` or `remit approvals approve {prompt.id}`" in text_of(waiting)
        terminal = world.store()
        assert await close_with(terminal, prompt, typed(Choice.ALLOW_ONCE))
        await terminal.close()
        task_id = content_of(waiting)["task_id"]
        result = await bounded(until_ended(connected, task_id))
        again = await until_told(connected, "task", **errand("lead"))
    assert (state_of(result), refused_in(result)) == ("completed", [])
    assert content_of(again) == content_of(result), "the same call again gives the same child's result, and starts none"
    assert (world.workspace / "out.txt").read_text() == "hello"


AT_ONCE = Timing(reflex=10 * LONG)
"""Whatever this machine takes for the way there and back, the client took no time of its own."""

NO_CONSENT = (
    ("bare accept", accepts(), "the client accepted the form without a decision in it, which is not consent"),
    ("nonsense", decides("yes"), "the client answered with a decision that the form did not offer"),
    ("decline at once", declines, "the client declined by itself, before anybody can have read the form"),
)


@pytest.mark.parametrize(
    ("cell", "act", "reason"),
    [
        pytest.param(cell, act, reason, id=f"{name}-{cell}")
        for name, act, reason in NO_CONSENT
        for cell in CELLS
        # Over stdio the server is a process of its own, whose reflex is the real one: a busy machine may take longer.
        if cell.transport != "stdio" or act is not declines
    ],
)
async def test_what_no_person_can_have_answered_is_never_consent(cell: Cell, act: Act, reason: str, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, cell, person=Person(act), timing=AT_ONCE) as connected:
        result = await bounded(connected.call("task", **errand("lead")))
    assert not (world.workspace / "out.txt").exists()
    assert refused_in(result) == [(PATH, "write", "nobody could be asked")]
    assert content_of(result)["refused"][0]["reason"] == reason


@pytest.mark.parametrize(
    ("cell", "after_it"),
    [
        pytest.param(cell, after_it, id=f"{after_it}-{cell}")
        for after_it in ("task", "task_status")
        for cell in CELLS
        # Over stdio a process each, as above.
        if cell.transport != "stdio" or after_it == "task"
    ],
)
async def test_a_prompt_orphaned_by_a_cancelled_call_is_shown_again(cell: Cell, after_it: str, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(stares, decides("allow_once"))
    async with connect(world, cell, person=person) as connected:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: connected.call("task", **errand("lead")))
                await person.sees_a_form()
                group.cancel_scope.cancel()
        (prompt,) = await connected.open_prompts()
        if after_it == "task":
            result = await bounded(connected.call("task", **errand("lead")))
        else:
            chain = await connected.store.chain(prompt.session_id)
            result = await bounded(until_ended(connected, chain[1].id))
        assert len(await connected.store.prompts()) == 1, "it is the same prompt, not a second one"
    assert (state_of(result), refused_in(result)) == ("completed", [])
    assert [form.message for form in person.forms] == [person.forms[0].message] * 2
    assert (world.workspace / "out.txt").read_text() == "hello"


@each_cell
async def test_three_parallel_children_ask_at_once_and_each_is_answered_for_itself(cell: Cell, tmp_path: Path) -> None:
    script = {
        "lead": [calls(*(send("writer", f"write {name}") for name in "abc")), says("{{results[0].text}}|{{results[1].text}}")],
        "writer": [calls(("write", {"filePath": "{{task}}", "content": "x"})), says("{{results[0].text}}")],
    }
    world = make_world(tmp_path, script=script, agents=TEAM)
    shown_at_first: list[bool] = []
    person = Person()
    async with connect(world, cell, person=person) as connected:

        async def look() -> None:
            shown_at_first.extend(prompt.shown_at is not None for prompt in await connected.store.prompts(state=PromptState.OPEN))

        allow, deny = decides("allow_once"), decides("deny")
        person.acts = [after(look, allow), deny, allow]
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        await connected.open_prompts(3)
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    at_once = 3 if cell.era == "2026-07-28" else 1
    assert (len(shown_at_first), sum(shown_at_first)) == (3, at_once), "all in one round, or one form after the other"
    assert len(person.forms) == 3
    assert [ending for _, _, ending in refused_in(result)] == ["denied by the person"]
    assert len([path for path in world.workspace.iterdir() if path.name.startswith("write ")]) == 2
