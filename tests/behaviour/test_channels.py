"""Which request shows whose prompt, and what happens when somebody answers elsewhere."""

from pathlib import Path

import anyio
import pytest
from mcp_types import CallToolResult

from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice, PromptState
from mcp_server.settings.values import Flags
from tests.behaviour.stories import (
    NEAR,
    PATH,
    agent,
    answer_all,
    bounded,
    calls,
    content_of,
    each_era,
    errand,
    refused_in,
    says,
    state_of,
    team_world,
    until_ended,
    until_told,
    write,
)
from tests.behaviour.world import connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, closes, decides, stares


async def test_an_answer_from_a_terminal_takes_the_form_away_and_the_call_goes_on(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(stares)
    results: list[CallToolResult] = []
    async with connect(world, NEAR, person=person) as connected:
        terminal = world.store()

        async def call() -> None:
            results.append(await bounded(connected.call("task", **errand("lead"))))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            with anyio.fail_after(LONG):
                await person.sees_a_form()
            await answer_all(terminal, await connected.open_prompts())
        await terminal.close()
    assert person.withdrawn == 1
    assert [state_of(result) for result in results] == ["completed"]
    assert (world.workspace / "out.txt").read_text() == "hello"


@each_era
async def test_a_background_prompt_rides_on_task_and_task_status_and_on_nothing_else(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(decides("allow_once"))
    async with connect(world, cell, person=person) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        (prompt,) = await connected.open_prompts()
        await bounded(connected.call("read", filePath="src/a.py"))
        await bounded(connected.call("session_info"))
        assert person.forms == []
        assert (prompt.background, prompt.deadline) == (False, None), "its time runs from when it is shown"
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    assert len(person.forms) == 1
    assert (state_of(result), refused_in(result)) == ("completed", [])


@each_era
async def test_a_form_closed_without_a_choice_is_put_off_and_shown_by_the_next_call(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(closes, decides("allow_once"))
    async with connect(world, cell, person=person, timing=Timing(patience=8.0)) as connected:
        first = await bounded(connected.call("task", **errand("lead")))
        second = await bounded(connected.call("task", **errand("lead")))
    assert (state_of(first), first.is_error) == ("waiting", False)
    assert state_of(second) == "completed"
    assert len(person.forms) == 2


async def test_a_headless_session_asks_no_questions_either(tmp_path: Path) -> None:
    ask = ("question", {"questions": [{"question": "Which?"}]})
    world = make_world(tmp_path, script={"quiet": [calls(ask), says("done")]}, agents={"quiet": agent("prompts: deny")})
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        result = await bounded(connected.call("task", **errand("quiet")))
    assert refused_in(result) == [("build › quiet", "question", "nobody could be asked")]


async def test_a_denied_spawn_starts_nobody_and_says_so(tmp_path: Path) -> None:
    editor = agent("permission:", "  edit: allow")
    world = make_world(tmp_path, script={"editor": [calls(write()), says("done")]}, agents={"editor": editor})
    async with connect(world, NEAR, person=Person(decides("deny", "do it yourself"))) as connected:
        result = await bounded(connected.call("task", **errand("editor")))
        (root,) = await connected.store.sessions("local")
        assert await connected.store.children(root.id) == ()
    assert result.is_error
    assert "the person says: do it yourself" in text_of(result)


async def test_a_result_too_long_is_saved_whole_where_its_caller_may_read_it(tmp_path: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(3000))
    world = make_world(tmp_path, script={"general": [says(long)]}, settings={"limits": {"inline_result": 500}})
    async with connect(world, NEAR) as connected:
        result = await bounded(connected.call("task", **errand("general")))
        (saved,) = (world.places.cache / "outputs").glob("*/*.txt")
        read = await bounded(connected.call("read", filePath=str(saved)))
    assert saved.read_text() == long
    assert saved.stat().st_mode & 0o777 == 0o600
    assert str(saved) in text_of(result)
    assert len(text_of(result)) < len(long)
    assert not read.is_error
    assert "line 0" in text_of(read)


async def test_a_later_connection_polls_and_resumes_what_an_earlier_one_started(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [says("first"), says("second")]})
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("general")))
    task_id = content_of(first)["task_id"]
    async with connect(world, NEAR) as connected:
        polled = await bounded(connected.call("task_status", task_id=task_id))
        second = await bounded(connected.call("task", **errand("general", "more", task_id=task_id)))
        chain = await connected.store.chain(content_of(second)["task_id"])
        newest = (await connected.store.sessions("local"))[0]
    assert (content_of(polled)["result"], content_of(second)["result"]) == ("first", "second")
    assert chain[0].id == newest.root_id, "its ceilings are those of the root that resumed it"


async def test_another_root_agents_children_are_not_reached(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [says("first")]})
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("general")))
    async with connect(world, NEAR, flags=Flags(agent="plan")) as connected:
        polled = await bounded(connected.call("task_status", task_id=content_of(first)["task_id"]))
    assert polled.is_error
    assert text_of(polled).startswith("no task with that id is yours")


@pytest.mark.parametrize("choice", [Choice.ALLOW_ONCE, Choice.DENY])
async def test_the_first_answer_wins_and_a_second_changes_nothing(choice: Choice, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        prompts = await connected.open_prompts()
        await answer_all(connected.store, prompts, choice)
        with pytest.raises(AssertionError):
            await answer_all(connected.store, prompts, Choice.ALLOW_TREE)
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    denied = [] if choice is Choice.ALLOW_ONCE else [(PATH, "write", "denied by the person")]
    assert refused_in(result) == denied


async def test_what_a_client_asked_for_itself_is_asked_no_more_when_it_has_left(tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={"limits": {"task_wait": 0.2}})
    async with connect(world, NEAR) as connected:
        await until_told(connected, "write", **write()[1])
        await until_told(connected, "task", **errand("lead"))
        await connected.open_prompts(2)
    store = world.store()
    prompts = {prompt.session_path[-1]: prompt.state for prompt in await store.prompts()}
    await store.close()
    assert prompts == {"build": PromptState.WITHDRAWN, "writer": PromptState.OPEN}, "its children go on"
