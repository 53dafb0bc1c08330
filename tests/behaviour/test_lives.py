"""The life of a run: the steps it takes, who outlives whom, and clocks that somebody sets."""

import time
from pathlib import Path

import anyio
import pytest

from mcp_server.records import RunState
from mcp_server.store.protocol import LONGEST_LEASE
from tests.behaviour.stories import (
    NEAR,
    TEAM,
    Settable,
    agent,
    answer_all,
    bounded,
    calls,
    content_of,
    errand,
    release,
    says,
    send,
    state_of,
    team_world,
    until,
    until_cancelled,
    until_ended,
)
from tests.behaviour.test_cancel import sleepers, states
from tests.behaviour.world import World, connect, make_world
from tests.bounds import LONG
from tests.protocol.connect import Cell

KEPT = agent("on_parent_end: keep")
SENDS_AND_ENDS = [calls(send("writer", background=True)), says("I have sent one")]
HELD = [{"text": "done", "await": "ready"}]


# ---- the steps of a run ---------------------------------------------------------------------------


async def test_each_step_of_a_run_is_kept_with_its_time_and_reason(tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        lead = content_of(started)["task_id"]
        await answer_all(connected.store, await connected.open_prompts())
        await bounded(until_ended(connected, lead))
        (writer,) = await connected.store.children(lead)
        steps = await connected.store.changes(writer.id)
    assert [(step.state, step.reason) for step in steps] == [
        (RunState.QUEUED, ""),
        (RunState.RUNNING, ""),
        (RunState.WAITING, "waits for 1 answer(s) of a person"),
        (RunState.RUNNING, ""),
        (RunState.COMPLETED, "completed"),
    ]
    assert [step.at for step in steps] == sorted(step.at for step in steps)


async def test_a_run_that_was_stopped_says_by_whom(tmp_path: Path) -> None:
    async with connect(make_world(tmp_path, script={"general": HELD}), NEAR) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        await until_cancelled(connected, content_of(started)["task_id"])
        steps = await connected.store.changes(content_of(started)["task_id"])
    assert (steps[-1].state, steps[-1].reason) == (RunState.CANCELLED, "cancelled by build")


# ---- who outlives whom ------------------------------------------------------------------------------


def keeping(folder: Path, *, settings: bool) -> World:
    """A leader that ends before its writer, which is to go on."""
    agents = TEAM if settings else {**TEAM, "writer": KEPT}
    said = {"agents": {"writer": {"on_parent_end": "keep"}}} if settings else {}
    return make_world(folder, script={"lead": SENDS_AND_ENDS, "writer": HELD}, agents=agents, settings=said)


@pytest.mark.parametrize("settings", [False, True], ids=["the definition says so", "settings say so"])
async def test_a_child_that_is_to_be_kept_goes_on_when_its_parent_ends(settings: bool, tmp_path: Path) -> None:
    world = keeping(tmp_path, settings=settings)
    async with connect(world, NEAR) as connected:
        result = await bounded(connected.call("task", **errand("lead")))

        async def goes_on() -> bool:  # it may not even have begun when its parent is done
            return await states(connected) == {"lead": RunState.COMPLETED, "writer": RunState.RUNNING}

        await until(goes_on)
        release(world, "ready")

        async def done() -> bool:
            return (await states(connected))["writer"] is RunState.COMPLETED

        await until(done)
    assert content_of(result)["result"] == "I have sent one"


async def test_a_child_that_is_to_be_kept_is_cancelled_with_its_parent_all_the_same(tmp_path: Path) -> None:
    script = {"lead": [calls(send("writer", background=True)), {"text": "done", "await": "ready"}], "writer": HELD}
    async with connect(make_world(tmp_path, script=script, agents={**TEAM, "writer": KEPT}), NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))

        async def sent() -> bool:
            return (await states(connected)).get("writer") is RunState.RUNNING

        await until(sent)
        ended = await until_cancelled(connected, content_of(started)["task_id"])
        assert await states(connected) == {"lead": RunState.CANCELLED, "writer": RunState.CANCELLED}
    assert state_of(ended) == "cancelled"


# ---- several processes ------------------------------------------------------------------------------


async def test_a_tree_that_another_process_works_on_is_cancelled_from_here(tmp_path: Path) -> None:
    sleep = calls(("bash", {"command": "sleep 300"}), ("bash", {"command": "sleep 301"}))
    world = team_world(tmp_path, sleep, settings={"permission": {"bash": "allow"}})

    async def asleep() -> bool:
        return len(sleepers(world)) >= 2

    # Over stdio, as a client starts it: its lease lasts for longer than a busy machine holds it up.
    async with connect(world, Cell(transport="stdio", era="2026-07-28")) as first, connect(world, NEAR) as second:
        started = await bounded(first.call("task", **errand("lead", background=True)))
        await until(asleep)
        ended = await until_cancelled(second, content_of(started)["task_id"])
        assert sleepers(world) == []
        assert await states(second) == {"lead": RunState.CANCELLED, "writer": RunState.CANCELLED}
    assert state_of(ended) == "cancelled"


# ---- clocks that somebody sets ----------------------------------------------------------------------


@pytest.mark.parametrize("jump", [10 * 3600.0, -10 * 3600.0], ids=["forward", "back"])
async def test_a_clock_that_is_set_while_a_run_works_takes_no_time_from_it(jump: float, tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [calls(("read", {"filePath": "src/a.py"})), *HELD]})
    clock = Settable()
    async with connect(world, NEAR, clock=clock) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        clock.ahead = jump
        release(world, "ready")
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
        run = await connected.store.latest_run(content_of(started)["task_id"])
    assert state_of(result) == "completed"
    assert run is not None
    assert 0.0 <= run.worked < 60.0


@pytest.mark.parametrize("jump", [500.0, -10 * 3600.0], ids=["forward", "back"])
async def test_an_answer_wakes_its_run_after_the_clock_was_set(jump: float, tmp_path: Path) -> None:
    clock = Settable()
    async with connect(team_world(tmp_path), NEAR, clock=clock) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        prompts = await connected.open_prompts()
        clock.ahead = jump
        await answer_all(connected.store, prompts)
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    assert state_of(result) == "completed"


async def test_a_lease_from_before_the_clock_was_set_back_holds_nobody_up(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": HELD})
    async with connect(world, NEAR) as first:
        started = await bounded(first.call("task", **errand("general", background=True)))
        task_id = content_of(started)["task_id"]
    release(world, "ready")
    store = world.store()
    (run,) = await store.unfinished_runs()
    assert await store.claim(run.id, owner="dead", now=time.time() + 2 * LONGEST_LEASE, seconds=30.0) is not None
    await store.close()
    async with connect(world, NEAR) as second:
        result = await bounded(until_ended(second, task_id))
    assert state_of(result) == "completed"


# ---- so many at once --------------------------------------------------------------------------------


async def test_time_in_the_queue_for_a_model_is_no_work_and_nobody_is_left_out(tmp_path: Path) -> None:
    script = {
        "general": [{"text": "held", "await": "ready"}],
        "worker": [calls(("read", {"filePath": "src/a.py"})), says("done")],
    }
    world = make_world(tmp_path, script=script, agents={"worker": agent("timeout: 4")}, settings={"limits": {"model_calls": 1}})
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("general", background=True)))
        others = [await bounded(connected.call("task", **errand("worker", f"{number}", background=True))) for number in range(3)]

        async def queued_for_longer_than_they_may_work() -> bool:
            runs = [await connected.store.latest_run(content_of(other)["task_id"]) for other in others]
            return all(run is not None and time.time() - run.updated_at > 4.5 for run in runs)

        await until(queued_for_longer_than_they_may_work)
        release(world, "ready")
        results = [await bounded(until_ended(connected, content_of(one)["task_id"])) for one in (first, *others)]
    assert [state_of(result) for result in results] == ["completed"] * 4


async def test_tools_beyond_the_limit_wait_for_their_turn_and_all_run(tmp_path: Path) -> None:
    lines = "echo begun >> log\nwhile [ ! -e go ]; do sleep 0.02; done\necho ended >> log\n"
    script = {"general": [calls(*(("bash", {"command": f"sh slow.sh {number}"}) for number in range(5))), says("done")]}
    settings = {"permission": {"bash": "allow", "edit": "allow"}, "limits": {"tool_calls": 2}}
    world = make_world(tmp_path, script=script, settings=settings, files={"slow.sh": lines})

    def log() -> list[str]:
        file = world.workspace / "log"
        return file.read_text().split() if file.exists() else []

    async def two_run() -> bool:
        return len(log()) >= 2

    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        await until(two_run)
        assert log() == ["begun", "begun"]
        (world.workspace / "go").touch()
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    assert state_of(result) == "completed"
    assert (log().count("begun"), log().count("ended")) == (5, 5)


async def test_a_storm_of_cancels_ends_each_run_once(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": HELD}, settings={"limits": {"children": 16}})
    async with connect(world, NEAR) as connected:
        started = [await bounded(connected.call("task", **errand("general", f"{n}", background=True))) for n in range(12)]
        ids = [content_of(one)["task_id"] for one in started]
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                for task_id in ids * 5:
                    group.start_soon(lambda task_id=task_id: connected.call("task_cancel", task_id=task_id))
        results = [await bounded(until_ended(connected, task_id)) for task_id in ids]
        ends = [event.ref for event in await connected.audit() if event.kind == "run" and event.outcome == "cancelled"]
    assert [state_of(result) for result in results] == ["cancelled"] * 12
    assert len(ends) == len(set(ends)) == 12
