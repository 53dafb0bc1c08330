"""With whole servers: a client that cannot ask, a child that waits, and a person in a browser."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from mcp_types import CallToolResult

from mcp_server.principal import LOCAL
from mcp_server.records import Choice, PromptState
from tests.behaviour.stories import PATH, bounded, calls, content_of, errand, says, state_of, team_world, until_ended, write
from tests.behaviour.world import connect, make_world
from tests.bounds import LONG
from tests.cli.kept import Kept
from tests.gateway.browsing import Browser, site, words_of
from tests.gateway.conftest import put
from tests.protocol.connect import ERAS, Cell


async def opened(browser: Browser) -> AsyncGenerator[list[str]]:
    """The ids of the open prompts, each time the stream tells them."""
    async with browser.client.stream("GET", f"{browser.door}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


async def test_a_new_prompt_and_its_end_arrive_by_themselves(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        with anyio.fail_after(LONG):
            async with aclosing(opened(browser)) as told:
                assert await anext(told) == []
                prompt = await put(kept)
                assert await anext(told) == [prompt.id]
                await served.store.close_prompt(prompt.id, PromptState.WITHDRAWN)
                assert await anext(told) == []


async def test_the_stream_ends_with_the_visit(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        with anyio.fail_after(LONG):
            async with aclosing(opened(browser)) as told:
                assert await anext(told) == []
                for cookie in browser.client.cookies.jar:
                    served.console.access.leave(cookie.value)
                with pytest.raises(StopAsyncIteration):
                    await anext(told)


@pytest.mark.parametrize("cell", [Cell(transport="memory", era=era) for era in ERAS], ids=str)
async def test_a_client_that_cannot_ask_completes_a_task_of_three_approvals(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(write("one.txt")), calls(write("two.txt")), calls(write("three.txt")), says("done"))
    async with connect(world, cell) as connected, site(world.places.state) as served:
        browser = await served.browser()
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        with anyio.fail_after(LONG):
            async with aclosing(opened(browser)) as told:
                answered: set[str] = set()
                async for ids in told:
                    for fresh in set(ids) - answered:
                        prompt = await served.store.prompt(fresh, LOCAL.key)
                        assert prompt is not None
                        page = words_of((await browser.get(f"prompts/{fresh}")).text)
                        assert f"{PATH} wants to use write" in page
                        await browser.answers(prompt, Choice.ALLOW_ONCE)
                        answered.add(fresh)
                    if len(answered) == 3:
                        break
        ended = await bounded(until_ended(connected, content_of(started)["task_id"]))
        given = [event.outcome for event in await connected.audit() if event.kind == "prompt" and event.outcome.startswith("answered")]
    assert state_of(ended) == "completed"
    assert {path.name for path in world.workspace.glob("*.txt")} == {"one.txt", "two.txt", "three.txt"}
    assert given == ["answered: allow_once"] * 3


async def test_a_denial_in_the_browser_reaches_the_child_as_the_persons(tmp_path: Path) -> None:
    world = make_world(
        tmp_path,
        script={"writer": [calls(write()), says("it said no")]},
        agents={"writer": "---\ndescription: Writes.\nmode: subagent\n---\nWrite.\n"},
    )
    results: list[CallToolResult] = []
    async with connect(world, Cell(transport="memory", era="2025-11-25")) as connected, site(world.places.state) as served:
        browser = await served.browser()

        async def call() -> None:
            results.append(await bounded(connected.call("task", **errand("writer"))))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            (prompt,) = await connected.open_prompts()
            await browser.answers(prompt, Choice.DENY, words="not now")
    (refused,) = content_of(results[0])["refused"]
    assert refused["ending"] == "denied by the person"
    assert not (world.workspace / "out.txt").exists()
