"""`advance` may be delivered any number of times, by anybody, at any time: a run goes its way once."""

from collections.abc import Callable
from pathlib import Path

import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from mcp_server.records import CallStarted, ModelTurn, PromptState, RunId
from mcp_server.sessions.executor import Advance, Executor, InProcess
from tests.behaviour.stories import NEAR, answer_all, bounded, calls, content_of, errand, says, state_of, team_world, until_ended, write
from tests.behaviour.world import connect

Made = Callable[[Advance], Executor]


class Thrice(InProcess):
    """Delivers each three times at once."""

    def deliver(self, run_id: RunId) -> None:
        for _ in range(3):
            super().deliver(run_id)


class Repeating(InProcess):
    """Delivers every run that it ever heard of again, in the other order, with each delivery."""

    def __init__(self, advance: Advance) -> None:
        super().__init__(advance)
        self._known: dict[RunId, None] = {}

    def deliver(self, run_id: RunId) -> None:
        self._known[run_id] = None
        for known in reversed(self._known):
            super().deliver(known)


class Late:
    """Delivers when the loop has nothing else to do, and again after that."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._group: TaskGroup | None = None

    def open(self, group: TaskGroup) -> None:
        self._group = group

    def deliver(self, run_id: RunId) -> None:
        if self._group is not None:
            self._group.start_soon(self._later, run_id)

    async def _later(self, run_id: RunId) -> None:
        for _ in range(2):
            await anyio.lowlevel.checkpoint()
            await self._advance(run_id)


@pytest.mark.parametrize("executor", [InProcess, Thrice, Repeating, Late])
async def test_a_tree_goes_its_way_once_however_often_it_is_delivered(executor: Made, tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(write(), write("second.txt")), says("writer: {{results[0].text}}"))
    async with connect(world, NEAR, executor=executor) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        await answer_all(connected.store, await connected.open_prompts(2))
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
        prompts = await connected.store.prompts()
        (writer,) = await connected.store.children(content_of(started)["task_id"])
        entries = [stored.entry for stored in await connected.store.transcript(writer.id)]
    assert state_of(result) == "completed"
    assert [prompt.state for prompt in prompts] == [PromptState.ANSWERED] * 2
    assert sum(isinstance(entry, ModelTurn) for entry in entries) == 2
    assert sum(isinstance(entry, CallStarted) for entry in entries) == 2


async def test_what_an_executor_never_delivered_is_found_in_the_store_by_the_next_who_starts(tmp_path: Path) -> None:
    class Forgetful(InProcess):
        def deliver(self, run_id: RunId) -> None:
            """Loses it."""

    world = team_world(tmp_path)
    async with connect(world, NEAR, executor=Forgetful) as first:
        started = await bounded(first.call("task", **errand("lead", background=True)))
        task_id = content_of(started)["task_id"]
        assert await first.store.transcript(task_id) != ()
    async with connect(world, NEAR) as second:
        await answer_all(second.store, await second.open_prompts())
        result = await bounded(until_ended(second, task_id))
    assert state_of(result) == "completed"
