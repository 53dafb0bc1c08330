"""A prompt as a link to the console: agreeing to open it answers nothing, the console does, and the call goes on."""

from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolResult,
    ElicitCompleteNotification,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
)

from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice, PromptState
from mcp_server.store.console_address import console_open
from tests.behaviour.stories import (
    PATH,
    answer_all,
    bounded,
    content_of,
    errand,
    leaving_soon,
    refused_in,
    state_of,
    team_world,
    until_ended,
    until_told,
)
from tests.behaviour.test_tasks import using
from tests.behaviour.world import Connected, World, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, each_cell, each_near_cell
from tests.protocol.task_client import asked

CONSOLE = "http://127.0.0.1:40213"
LINKS_FIRST = {"channels": ["url", "elicitation", "console", "terminal"]}


class Later:
    """A call's result, once it has ended."""

    def __init__(self, call: Awaitable[CallToolResult]) -> None:
        self.call = call
        self.result: CallToolResult

    async def __call__(self) -> None:
        self.result = await bounded(self.call)


class OpensLinks(Person):
    """Agrees to open a link, or does not; once it has agreed, answers in the console, which `answers` stands for."""

    def __init__(self, action: Literal["accept", "decline", "cancel"] = "accept", content: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.links: list[ElicitRequestURLParams] = []
        self.completed: list[str] = []
        self.action: Literal["accept", "decline", "cancel"] = action
        self.content = content
        self.was_asked, self.told_complete = anyio.Event(), anyio.Event()

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        if isinstance(params, ElicitRequestFormParams):
            return await super().__call__(context, params)
        self.links.append(params)
        self.was_asked.set()
        return ElicitResult(action=self.action, content=dict(self.content) if self.content else None)

    async def heard(self, message: object) -> None:
        if isinstance(message, ElicitCompleteNotification):
            self.completed.append(message.params.elicitation_id)
            self.told_complete.set()


@asynccontextmanager
async def asking(world: World, cell: Cell, person: OpensLinks, **more: Any) -> AsyncGenerator[Connected]:
    """A client that opens links, and a console that is open."""
    with console_open(world.places.state, CONSOLE):
        async with connect(world, cell, person=person, heard=person.heard, **more) as connected:
            yield connected


async def answered_in_console(connected: Connected, person: OpensLinks, choice: Choice) -> None:
    await person.was_asked.wait()
    await answer_all(connected.store, await connected.open_prompts(), choice)


@each_cell
async def test_a_prompt_two_levels_down_is_opened_by_a_link_and_answered_in_the_console(cell: Cell, tmp_path: Path) -> None:
    world, person = team_world(tmp_path, settings=LINKS_FIRST), OpensLinks()
    async with asking(world, cell, person) as connected:
        ended = Later(connected.call("task", **errand("lead")))
        async with anyio.create_task_group() as group:
            group.start_soon(ended)
            await answered_in_console(connected, person, Choice.ALLOW_ONCE)
        (asked_for,) = [prompt.id for prompt in await connected.store.prompts()]
        if cell.era == "2025-11-25":
            with anyio.fail_after(LONG):
                await person.told_complete.wait()
            assert person.completed == [asked_for]
    assert (state_of(ended.result), refused_in(ended.result)) == ("completed", [])
    assert (world.workspace / "out.txt").read_text() == "hello"
    (link,) = person.links
    prompt_id = link.url.removeprefix(f"{CONSOLE}/prompts/")
    assert prompt_id.startswith("prm_")
    assert link.message.splitlines()[0] == f"{PATH} wants to use write:"
    assert link.elicitation_id == (prompt_id if cell.era == "2025-11-25" else None)
    assert person.forms == []


@each_near_cell
@pytest.mark.parametrize("content", [None, {"decision": "allow_once"}], ids=["bare", "with a decision"])
async def test_agreeing_to_open_a_link_is_no_consent(cell: Cell, content: Mapping[str, str] | None, tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={**LINKS_FIRST, "limits": {"prompt_deadline": 0.5}})
    person = OpensLinks("accept", content)
    async with asking(world, cell, person) as connected:
        result = await bounded(connected.call("write", filePath="a.txt", content="x"))
        (prompt,) = await connected.store.prompts()
    assert text_of(result).startswith("nobody answered in time")
    assert (prompt.state, prompt.answer) == (PromptState.EXPIRED, None)
    assert len(person.links) == 1
    assert not (world.workspace / "a.txt").exists()


@each_near_cell
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_link_that_nobody_opens_leaves_the_prompt_to_every_other_way(
    cell: Cell, action: Literal["decline", "cancel"], tmp_path: Path
) -> None:
    world, person = make_world(tmp_path, settings=LINKS_FIRST), OpensLinks(action)
    timing = Timing()
    async with asking(world, cell, person, timing=timing) as connected:
        with leaving_soon(timing):
            waiting = await until_told(connected, "write", filePath="a.txt", content="x")
        (prompt,) = await connected.open_prompts()
        assert f"(a person answers with {CONSOLE}/prompts/{prompt.id} in a browser" in text_of(waiting)
        await answer_all(connected.store, [prompt], Choice.ALLOW_ONCE)
        assert not (await bounded(connected.call("write", filePath="a.txt", content="x"))).is_error
    assert (world.workspace / "a.txt").read_text() == "x"
    assert person.completed == []


async def test_a_link_that_was_opened_is_not_put_again_by_whoever_waits(tmp_path: Path) -> None:
    world, person = team_world(tmp_path, settings=LINKS_FIRST), OpensLinks()
    cell = Cell(transport="memory", era="2026-07-28")  # before then such a call stays until the answer
    timing, looks = Timing(), 0
    async with asking(world, cell, person, timing=timing) as connected:
        begun = await bounded(connected.call("task", **errand("lead", background=True)))
        await connected.open_prompts()
        task_id = content_of(begun)["task_id"]
        with leaving_soon(timing):
            while looks < 2:
                before = len(person.links)
                told = await bounded(connected.call("task_status", task_id=task_id, wait_seconds=20))
                assert state_of(told) in ("waiting", "running")
                looks += before  # those before it was put show nothing
        assert len(person.links) == 1
        await answer_all(connected.store, await connected.open_prompts(), Choice.ALLOW_ONCE)
        assert state_of(await bounded(until_ended(connected, task_id))) == "completed"


@each_near_cell
async def test_without_an_open_console_the_next_way_is_taken(cell: Cell, tmp_path: Path) -> None:
    world, person = make_world(tmp_path, settings=LINKS_FIRST), OpensLinks()
    person.acts = [accepts_once]
    async with connect(world, cell, person=person) as connected:
        assert not (await bounded(connected.call("write", filePath="a.txt", content="x"))).is_error
    assert (person.links, len(person.forms)) == ([], 1)


async def accepts_once(_: ElicitRequestFormParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"decision": "allow_once"})


@each_near_cell
async def test_where_nobody_says_otherwise_a_form_comes_before_a_link(cell: Cell, tmp_path: Path) -> None:
    world, person = make_world(tmp_path), OpensLinks()
    person.acts = [accepts_once]
    async with asking(world, cell, person) as connected:
        assert not (await bounded(connected.call("write", filePath="a.txt", content="x"))).is_error
    assert (person.links, len(person.forms)) == ([], 1)


async def test_a_task_holds_the_link_and_takes_no_decision_by_it(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"channels": ["url", "console", "terminal"]})
    with console_open(world.places.state, CONSOLE):
        async with using(world) as (user, connected):
            task_id = await user.task("write", filePath="a.txt", content="x")
            requests = asked(await user.until(task_id, "input_required"))
            (prompt,) = await connected.open_prompts()
            ((key, request),) = requests.items()
            assert (request["params"]["mode"], request["params"]["url"]) == ("url", f"{CONSOLE}/prompts/{prompt.id}")
            forged = {"action": "accept", "content": {"decision": "allow_once"}}
            await user.update(task_id, {prompt.id: forged})
            await user.update(task_id, {key: forged})
            assert [one.id for one in await connected.open_prompts()] == [prompt.id]
            working = await user.get(task_id)
            assert (working["status"], CONSOLE in working["statusMessage"]) == ("working", True)
            await answer_all(connected.store, [prompt], Choice.ALLOW_ONCE)
            await user.until_over(task_id)
    assert (world.workspace / "a.txt").read_text() == "x"
