"""Ending a tree, and giving an ended child more to do."""

from pathlib import Path

import anyio
import pytest

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import PromptState, RunState
from tests.behaviour.stories import (
    LIMITS_OF_TIME,
    NEAR,
    TEAM,
    agent,
    bounded,
    calls,
    content_of,
    each_era,
    errand,
    release,
    says,
    send,
    state_of,
    team,
    team_world,
    until,
    until_cancelled,
    until_ended,
)
from tests.behaviour.world import Connected, World, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, decides, stares

UNKNOWN = "no task with that id is yours"


def sleepers(world: World) -> list[str]:
    """Processes that run in the workspace of this test."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cwd").resolve() == world.workspace and b"sleep" in (folder / "cmdline").read_bytes():
                    found.append(folder.name)
            except OSError:
                continue
    return found


async def states(connected: Connected) -> dict[str, RunState]:
    """The newest run of each agent."""
    found: dict[str, RunState] = {}
    for session in await connected.store.sessions(LOCAL.key):
        run = await connected.store.latest_run(session.id)
        if run is not None:
            found[session.agent] = run.state
    return found


async def test_cancel_ends_the_whole_tree_and_its_processes(tmp_path: Path) -> None:
    sleep = calls(("bash", {"command": "sleep 300"}), ("bash", {"command": "sleep 301"}))
    world = team_world(tmp_path, sleep, settings={"permission": {"bash": "allow"}})

    async def asleep() -> bool:
        return len(sleepers(world)) >= 2

    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        await until(asleep)
        ended = await until_cancelled(connected, content_of(started)["task_id"])
        assert sleepers(world) == []
        assert await states(connected) == {"lead": RunState.CANCELLED, "writer": RunState.CANCELLED}
    assert state_of(ended) == "cancelled"
    assert content_of(ended)["error"] == "cancelled by build"


async def test_cancel_takes_the_open_prompts_of_the_tree_with_it(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        await connected.open_prompts()
        await until_cancelled(connected, content_of(started)["task_id"])
        assert [prompt.state for prompt in await connected.store.prompts()] == [PromptState.WITHDRAWN]
    assert not (world.workspace / "out.txt").exists()


async def test_a_form_on_the_wire_is_withdrawn_when_its_run_is_cancelled(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(stares)
    async with connect(world, NEAR, person=person) as connected, anyio.create_task_group() as group:
        group.start_soon(lambda: connected.call("task", **errand("lead")))
        with anyio.fail_after(LONG):
            await person.sees_a_form()
            (prompt,) = await connected.open_prompts()
            lead = (await connected.store.chain(prompt.session_id))[1]
            await connected.call("task_cancel", task_id=lead.id)
    assert person.withdrawn == 1


@each_era
async def test_a_clients_own_command_ends_when_its_call_is_cancelled(cell: Cell, tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"permission": {"bash": "allow"}})

    async def asleep() -> bool:
        return bool(sleepers(world))

    async def awake() -> bool:
        return not sleepers(world)

    async with connect(world, cell) as connected:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: connected.call("bash", command="sleep 300"))
            await until(asleep)
            group.cancel_scope.cancel()
        await until(awake)


async def test_a_run_past_its_time_takes_its_processes_with_it(tmp_path: Path) -> None:
    script = {"worker": [calls(("bash", {"command": "sleep 300"}), text="I will sleep"), says("never")]}
    said = None
    for seconds in LIMITS_OF_TIME:
        agents = {"worker": agent(f"timeout: {seconds}")}
        world = make_world(tmp_path / f"{seconds}", script=script, agents=agents, settings={"permission": {"bash": "allow"}})
        async with connect(world, NEAR) as connected:
            result = await bounded(connected.call("task", **errand("worker")), 2 * LONG)
            assert sleepers(world) == []
        assert state_of(result) == "error"
        if (said := content_of(result)["result"]) is not None:
            break
    assert said == "I will sleep"


async def test_a_background_child_ends_with_its_parent(tmp_path: Path) -> None:
    script = {
        "lead": [calls(send("writer", background=True)), says("I have sent one")],
        "writer": [{"text": "never", "await": "never"}],
    }
    async with connect(make_world(tmp_path, script=script, agents=TEAM), NEAR) as connected:
        result = await bounded(connected.call("task", **errand("lead")))

        async def ended() -> bool:
            return (await states(connected))["writer"] is RunState.CANCELLED

        await until(ended)
    assert (state_of(result), content_of(result)["result"]) == ("completed", "I have sent one")


async def test_a_background_child_of_the_client_is_polled_to_its_end(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [{"text": "done", "await": "ready"}]})
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        task_id = content_of(started)["task_id"]
        polled = await bounded(connected.call("task_status", task_id=task_id))
        release(world, "ready")
        ended = await bounded(until_ended(connected, task_id))
    assert [state_of(result) for result in (started, polled, ended)] == ["running", "running", "completed"]


# ---- resuming -------------------------------------------------------------------------------------


async def test_a_finished_child_is_given_more_and_remembers(tmp_path: Path) -> None:
    turns = [calls(("read", {"filePath": "src/a.py"})), says("first"), {"text": "second, after {{turns[0].results[0].text}}"}]
    async with connect(make_world(tmp_path, script={"general": turns}), NEAR) as connected:
        first = await bounded(connected.call("task", **errand("general")))
        task_id = content_of(first)["task_id"]
        second = await bounded(connected.call("task", **errand("general", "more", task_id=task_id)))
    assert content_of(second)["task_id"] == task_id
    assert content_of(second)["result"].startswith("second, after 1: print('a')")
    assert content_of(second)["usage"]["turns"] == 1, "what it cost is the run's own"


async def test_a_cancelled_child_is_given_more(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [{"text": "first", "await": "ready"}, says("second")]})
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        task_id = content_of(started)["task_id"]
        await until_cancelled(connected, task_id)
        release(world, "ready")
        again = await bounded(connected.call("task", **errand("general", "more", task_id=task_id)))
    assert (state_of(again), content_of(again)["result"]) == ("completed", "first")


async def test_an_expired_child_is_given_more(tmp_path: Path) -> None:
    script = {"worker": [calls(("read", {"filePath": "src/a.py"})), says("done")]}
    world = make_world(tmp_path, script=script, agents={"worker": agent("steps: 1")})
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
        again = await bounded(connected.call("task", **errand("worker", "more", task_id=content_of(first)["task_id"])))
    assert (state_of(first), state_of(again)) == ("error", "completed")


async def test_a_child_that_was_cut_off_in_mid_call_can_be_given_more(tmp_path: Path) -> None:
    script = {"general": [calls(("bash", {"command": "sleep 300"})), {"text": "told: {{results[0].text}}"}]}
    world = make_world(tmp_path, script=script, settings={"permission": {"bash": "allow"}})

    async def asleep() -> bool:
        return bool(sleepers(world))

    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        task_id = content_of(started)["task_id"]
        await until(asleep)
        await until_cancelled(connected, task_id)
        again = await bounded(connected.call("task", **errand("general", "more", task_id=task_id)))
        assert sleepers(world) == [], "what was cut off is not begun again"
    assert state_of(again) == "completed", again


async def test_another_agents_session_and_one_that_still_runs_are_not_resumed(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [{"text": "done", "await": "ready"}]})
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("general", background=True)))
        task_id = content_of(started)["task_id"]
        running = await bounded(connected.call("task", **errand("general", "more", task_id=task_id)))
        release(world, "ready")
        await bounded(until_ended(connected, task_id))
        other = await bounded(connected.call("task", **errand("explore", "more", task_id=task_id)))
    assert f"task {task_id} has not ended" in text_of(running)
    assert "is `general`'s, not `explore`'s" in text_of(other)


@pytest.mark.parametrize("tool", ["task", "task_status", "task_cancel"])
async def test_a_foreign_an_unknown_and_a_malformed_id_get_one_answer(tool: str, tmp_path: Path) -> None:
    world = make_world(tmp_path, script=team(), agents=TEAM)
    more = errand("writer") if tool == "task" else {}
    async with connect(world, NEAR, person=Person(decides("deny"))) as connected:
        first = await bounded(connected.call("task", **errand("lead")))
        (grandchild,) = await connected.store.children((await connected.store.children(await _root(connected)))[0].id)
        mine = content_of(first)["task_id"]
        foreign = [grandchild.id, await _root(connected), "ses_" + "a" * 32, "ses_", mine.upper(), "../../etc/passwd", "ses_\0"]
        told = {text_of(await bounded(connected.call(tool, task_id=name, **more))) for name in foreign}
    assert len(told) == 1, told
    assert told.pop().startswith(UNKNOWN)


async def _root(connected: Connected) -> SessionId:
    return next(session.id for session in await connected.store.sessions(LOCAL.key) if session.parent_id is None)
