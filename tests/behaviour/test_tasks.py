"""Tasks, from a client that knows them: handles that outlive requests, connections and servers."""

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from mcp_server.policy.values import CallId
from mcp_server.principal import LOCAL
from mcp_server.records import PromptState
from mcp_server.sessions.deployment import Limits
from mcp_server.sessions.promises import MOST
from mcp_server.store.protocol import LONGEST_LEASE
from tests.behaviour.server_process import pid_file
from tests.behaviour.stories import PATH, answer_all, calls, closed_prompt, errand, release, says, team_world, until, write
from tests.behaviour.world import Connected, World, connect, make_world
from tests.behaviour.world import text_of as shown_in
from tests.bounds import LONG
from tests.cradle.commands import module
from tests.protocol.connect import TRANSPORTS, Cell, Person, client_of, command, stares
from tests.protocol.task_client import Created, KnowsTasks, TaskUser, accepts, asked, text_of

NEW = Cell(transport="memory", era="2026-07-28")

AT_WORK = {"limits": {"task_wait": 1}, "permission": {"bash": "allow", "edit": "allow"}}
"""A call that no rule stops, and that its request leaves after a second."""

each_new_cell = pytest.mark.parametrize("cell", [Cell(transport=transport, era="2026-07-28") for transport in TRANSPORTS], ids=str)


def long_leases(limits: Limits) -> Limits:
    """Nobody is taken for dead within the time of a test."""
    return replace(limits, lease_seconds=LONGEST_LEASE)


@asynccontextmanager
async def using(
    world: World, cell: Cell = NEW, *, forms: bool = True, limits: Callable[[Limits], Limits] = lambda limits: limits
) -> AsyncGenerator[tuple[TaskUser, Connected]]:
    """A client that knows tasks. `forms`: it shows forms too, though in a task none is ever sent to it."""
    person = Person(stares) if forms else None
    with anyio.fail_after(4 * LONG):
        async with connect(world, cell, person=person, extensions=[KnowsTasks()], limits=limits) as connected:
            yield TaskUser(client=connected.client), connected
    assert person is None or person.forms == []


# ---- what becomes a task --------------------------------------------------------------------------


@each_new_cell
async def test_a_subagent_is_a_task_and_its_prompt_is_answered_by_an_update(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world, cell) as (user, _):
        created = await user.call("task", **errand("lead"))
        assert isinstance(created, Created)
        assert created.status in ("working", "input_required"), "the child may have asked before the answer was made"
        assert created.ttl_ms is None
        ((key, request),) = asked(await user.until(created.task_id, "input_required")).items()
        assert request["params"]["message"].startswith(f"{PATH} wants to use write")
        assert await user.update(created.task_id, {key: accepts()}) == {"resultType": "complete"}
        task = await user.until_over(created.task_id)
    assert "created out.txt" in text_of(task)
    assert task["result"]["structuredContent"]["state"] == "completed"
    assert (world.workspace / "out.txt").read_text() == "hello"


async def test_a_task_says_who_does_what_and_when_to_look_again(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, connected):
        created = await user.call("task", **errand("lead"))
        assert isinstance(created, Created)
        task = await user.until(created.task_id, "input_required")
        assert task["statusMessage"].startswith(f"waits for a person: {PATH}: edit out.txt")
        assert (task["pollIntervalMs"], task["ttlMs"], task["createdAt"]) == (1000, None, created.created_at)
        assert task["lastUpdatedAt"] >= task["createdAt"], "the child may have asked within the millisecond in which the task was made"
        (lead,) = [session for session in await connected.store.sessions(LOCAL.key) if session.agent == "lead"]
        status = await connected.call("task_status", task_id=lead.id)
        assert status.structured_content is not None
        assert status.structured_content["agent"] == "lead"


async def test_a_task_at_work_says_which_agent_does_what(tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(("read", {"filePath": "src/a.py"})), says("read") | {"await": "seen"})
    async with using(world) as (user, _):
        task_id = await user.task("task", **errand("lead"))

        async def told() -> bool:
            task = await user.get(task_id)
            return task["status"] == "working" and task["statusMessage"].startswith(f"{PATH}: read src/a.py (running; ")

        await until(told)
        release(world, "seen")
        assert "read" in text_of(await user.until_over(task_id))


async def test_a_child_in_the_background_is_a_task_that_ends_with_the_child(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as (user, connected):
        task_id = await user.task("task", **errand("writer", background=True))
        keys = asked(await user.until(task_id, "input_required"))
        assert (await user.get(task_id))["inputRequests"].keys() == keys.keys()
        await user.update(task_id, {key: accepts() for key in keys})
        task = await user.until_over(task_id)
        assert "created out.txt" in text_of(task)
        assert [event.outcome for event in await connected.audit() if event.tool == "task"][-1] == "done"


async def test_a_call_that_ends_at_once_is_no_task(tmp_path: Path) -> None:
    async with using(make_world(tmp_path, script={})) as (user, _):
        result = await user.call("read", filePath="README.md")
    assert isinstance(result, CallToolResult)
    assert not result.is_error


async def test_any_governed_tool_that_waits_for_a_person_is_a_task(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={})
    async with using(world) as (user, _):
        task_id = await user.task("write", filePath="new.txt", content="hi")
        ((key, _),) = asked(await user.get(task_id)).items()
        await user.update(task_id, {key: accepts()})
        assert "created new.txt" in text_of(await user.until_over(task_id))
    assert (world.workspace / "new.txt").read_text() == "hi"


async def test_a_denial_is_a_completed_task_whose_result_is_an_error(tmp_path: Path) -> None:
    async with using(make_world(tmp_path, script={})) as (user, _):
        task_id = await user.task("write", filePath="new.txt", content="hi")
        ((key, _),) = asked(await user.get(task_id)).items()
        await user.update(task_id, {key: accepts("deny", "not there")})
        task = await user.until_over(task_id)
    assert task["result"]["isError"] is True
    assert "denied by the person: the person says: not there" in text_of(task)


async def test_the_same_call_again_is_another_task_once_the_handle_was_given(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, _):
        first = await user.task("task", **errand("writer"))
        second = await user.task("task", **errand("writer"))
        assert first != second
        for task_id in (first, second):
            await user.until(task_id, "input_required")


# ---- answers --------------------------------------------------------------------------------------


async def test_answers_may_come_one_by_one_twice_and_too_late(tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(write("a.txt"), write("b.txt")), says("both"))
    async with using(world) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        await connected.open_prompts(2)
        task = await user.until(task_id, "input_required")
        assert len(asked(task)) == 2
        one, other = asked(task)
        await user.update(task_id, {one: accepts(), "prm_unknown": accepts(), "": None})
        assert list(asked(await user.get(task_id))) == [other]
        await user.update(task_id, {one: accepts("deny")})
        await user.update(task_id, {other: accepts()})
        assert "both" in text_of(await user.until_over(task_id))
        assert await user.update(task_id, {one: accepts("deny"), other: accepts("deny")}) == {"resultType": "complete"}
        assert "both" in text_of(await user.get(task_id))
    assert sorted(path.name for path in world.workspace.glob("?.txt")) == ["a.txt", "b.txt"]


async def test_a_prompt_that_the_person_closes_is_shown_no_more_but_stays_open(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        ((key, _),) = asked(await user.until(task_id, "input_required")).items()
        await user.update(task_id, {key: {"action": "cancel"}})
        task = await user.get(task_id)
        assert (task["status"], "inputRequests" in task) == ("working", False)
        assert f"remit approvals approve {key}" in task["statusMessage"]
        await answer_all(connected.store, await connected.open_prompts())
        await user.until_over(task_id)
    assert (world.workspace / "out.txt").exists()


@pytest.mark.parametrize("answer", [{"action": "accept"}, {"action": "accept", "content": {"decision": "all"}}, {"ignored": True}, None, 7])
async def test_what_no_person_can_have_answered_is_told_as_nobody_could_be_asked(answer: object, tmp_path: Path) -> None:
    world = make_world(tmp_path, script={})
    async with using(world) as (user, connected):
        task_id = await user.task("write", filePath="new.txt", content="hi")
        ((key, _),) = asked(await user.get(task_id)).items()
        await user.update(task_id, {key: answer})
        assert "nobody could be asked" in text_of(await user.until_over(task_id))
        assert len(await connected.store.prompts(state=PromptState.UNASKABLE)) == 1
    assert not (world.workspace / "new.txt").exists()


async def test_a_client_without_forms_is_told_the_command_and_goes_on_after_the_answer(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world, forms=False) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        (prompt,) = await connected.open_prompts()
        task = await user.get(task_id)
        assert task["status"] == "working"
        assert f"remit approvals approve {prompt.id}" in task["statusMessage"]
        await answer_all(connected.store, [prompt])
        assert "created out.txt" in text_of(await user.until_over(task_id))


# ---- the end of a request, a connection, a server --------------------------------------------------


@pytest.mark.parametrize("cell", [NEW, Cell(transport="stdio", era="2026-07-28")], ids=str)
@pytest.mark.parametrize("background", [False, True])
async def test_a_task_outlives_its_connection_and_its_server(background: bool, cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(write("a.txt")), calls(write("b.txt")), says("both are there"))
    async with using(world, cell) as (user, _):
        task_id = await user.task("task", **errand("lead", background=background))
        first = asked(await user.until(task_id, "input_required"))
        await user.update(task_id, {key: accepts() for key in first})
        second = await user.until_another(task_id, first)
    async with using(world, cell) as (user, _):
        assert asked(await user.until(task_id, "input_required")) == second
        await user.update(task_id, {key: accepts() for key in second})
        before = await user.until_over(task_id)
    async with using(world, cell) as (user, _):
        assert await user.get(task_id) == before
    assert "both are there" in text_of(before)
    assert sorted(path.name for path in world.workspace.glob("?.txt")) == ["a.txt", "b.txt"]


async def test_a_call_that_waits_for_a_person_outlives_its_server(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={})
    async with using(world) as (user, _):
        task_id = await user.task("write", filePath="new.txt", content="hi")
        ((key, _),) = asked(await user.get(task_id)).items()
    async with using(world) as (user, _):
        await user.update(task_id, {key: accepts()})
        assert "created new.txt" in text_of(await user.until_over(task_id))
    assert (world.workspace / "new.txt").read_text() == "hi"


async def test_a_call_is_carried_out_though_its_client_never_looks(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={})
    async with using(world) as (user, connected):
        await user.task("write", filePath="one.txt", content="hi")
        await user.task("write", filePath="two.txt", content="hi")
        prompts = await connected.open_prompts(2)
        await answer_all(connected.store, prompts[:1])
        await until(anyio.Path(world.workspace / "one.txt").exists)
    store = world.store()
    try:
        await answer_all(store, prompts[1:])
    finally:
        await store.close()
    async with using(world):
        await until(anyio.Path(world.workspace / "two.txt").exists)


async def test_a_thousand_looks_write_nothing(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        await user.until(task_id, "input_required")
        written: list[int] = []
        looks: list[str] = []
        for _ in range(5):  # the run itself may still be coming to rest while the first looks come
            before = await connected.store.changed()
            looks = [str(await user.get(task_id)) for _ in range(200)]
            written.append(await connected.store.changed() - before)
        assert len(set(looks)) == 1
        assert written[-1] == 0, written
        assert sum(written) < 5, written


async def test_two_servers_on_one_store_see_one_task(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as (one, _), using(world) as (other, _):
        task_id = await one.task("task", **errand("writer"))
        await one.until(task_id, "input_required")
        keys = asked(await other.until(task_id, "input_required"))
        await other.update(task_id, {key: accepts() for key in keys})
        assert await one.until_over(task_id) == await other.until_over(task_id)
    assert (world.workspace / "out.txt").read_text() == "hello"


async def nothing_runs(connected: Connected) -> bool:
    return await connected.store.unfinished_runs() == ()


# ---- cancelling -----------------------------------------------------------------------------------


async def test_a_cancelled_task_ends_with_its_whole_tree(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as (user, connected):
        task_id = await user.task("task", **errand("lead"))
        await user.until(task_id, "input_required")
        assert await user.cancel(task_id) == {"resultType": "complete"}
        task = await user.until_over(task_id)
        assert (task["status"], "result" in task) == ("cancelled", False)
        assert await user.cancel(task_id) == {"resultType": "complete"}
        await closed_prompt(connected.store, PromptState.WITHDRAWN)
        await until(lambda: nothing_runs(connected))
    assert not (world.workspace / "out.txt").exists()


async def test_a_cancelled_call_that_waited_for_a_person_never_happens(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={})
    async with using(world) as (user, connected):
        task_id = await user.task("write", filePath="new.txt", content="hi")
        (prompt,) = await connected.open_prompts()
        await user.cancel(task_id)
        assert (await user.until_over(task_id))["status"] == "cancelled"
        await closed_prompt(connected.store, PromptState.WITHDRAWN)
        await user.update(task_id, {prompt.id: accepts()})
        assert (await user.get(task_id))["status"] == "cancelled"
    assert not (world.workspace / "new.txt").exists()


async def test_a_cancel_after_the_end_changes_nothing(tmp_path: Path) -> None:
    world = team_world(tmp_path, says("done already") | {"await": "made"})
    async with using(world) as (user, _):
        task_id = await user.task("task", **errand("lead", "x"))
        release(world, "made")
        before = await user.until_over(task_id)
        await user.cancel(task_id)
        assert await user.get(task_id) == before


async def test_a_task_may_be_cancelled_at_another_server_than_its_own(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as (one, _), using(world) as (other, _):
        child = await one.task("task", **errand("writer"))
        write_ = await one.task("write", filePath="new.txt", content="hi")
        for task_id in (child, write_):
            await one.until(task_id, "input_required")
            await other.cancel(task_id)
            assert (await one.until_over(task_id))["status"] == "cancelled"


async def test_what_a_person_cancels_in_a_terminal_is_a_cancelled_task(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        await user.until(task_id, "input_required")
        (run,) = await connected.store.unfinished_runs()
        await connected.store.request_cancel(run.id, "a person")
        assert (await user.until_over(task_id))["status"] == "cancelled"


async def test_each_prompt_of_a_task_has_a_key_of_its_own(tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(write("a.txt")), calls(write("b.txt")), says("both"))
    async with using(world) as (user, _):
        task_id = await user.task("task", **errand("writer"))
        first = asked(await user.until(task_id, "input_required"))
        await user.update(task_id, {key: accepts() for key in first})
        second = await user.until_another(task_id, first)
        assert first.keys().isdisjoint(second)
        await user.update(task_id, {key: accepts() for key in second})
        assert "both" in text_of(await user.until_over(task_id))


async def test_prompts_of_other_tasks_are_not_shown(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, _):
        one = await user.task("task", **errand("writer"))
        other = await user.task("task", **errand("writer"))
        mine = asked(await user.until(one, "input_required"))
        others = asked(await user.until(other, "input_required"))
        assert (len(mine), len(others)) == (1, 1)
        assert mine.keys() != others.keys()


async def test_a_storm_of_cancels_ends_each_task_once(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, connected):
        tasks = [await user.task("task", **errand("lead", f"job {number}")) for number in range(6)]
        async with anyio.create_task_group() as group:
            for _ in range(20):
                for task_id in tasks:
                    group.start_soon(user.cancel, task_id)
        assert {(await user.until_over(task_id))["status"] for task_id in tasks} == {"cancelled"}
        await until(lambda: nothing_runs(connected))
        ends = [
            event for event in await connected.audit() if event.kind == "outcome" and event.tool == "task" and len(event.session_path) == 1
        ]
        assert len(ends) == len(tasks)


async def test_past_the_bound_a_call_is_answered_as_to_a_client_that_knows_no_tasks(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={})
    async with using(world) as (user, connected):
        task_id = await user.task("write", filePath="one.txt", content="hi")
        (one,) = await connected.store.promised_open(principal=LOCAL.key)
        for number in range(MOST - 1):
            call = replace(one.call, id=CallId(f"call_{number}"))
            await connected.store.add_promised(replace(one, call=call, workspace="/elsewhere"))
        result = await user.call("write", filePath="two.txt", content="hi")
        assert isinstance(result, CallToolResult)
        assert "`write` waits for a person" in shown_in(result)
        await user.cancel(task_id)
        await user.until_over(task_id)
        await user.task("write", filePath="three.txt", content="hi")


async def test_a_call_whose_server_was_killed_at_work_has_an_unknown_outcome_and_is_not_made_again(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={}, settings=AT_WORK, files={"work.sh": "echo once >> done\nsleep 60\n"})
    server = command(*module("tests.behaviour.server_process", str(world.folder)))
    task_ids: list[str] = []
    with anyio.fail_after(3 * LONG):
        with suppress(MCPError, BaseExceptionGroup):  # the client tells that its server is gone
            async with client_of(server, "2026-07-28", None, extensions=[KnowsTasks()]) as client:
                task_ids.append(await TaskUser(client=client).task("bash", command="sh work.sh"))
                await until(anyio.Path(world.workspace / "done").exists)
                os.kill(int(pid_file(world).read_text()), signal.SIGKILL)
                await TaskUser(client=client).get(task_ids[0])
        async with client_of(server, "2026-07-28", None, extensions=[KnowsTasks()]) as client:
            task = await TaskUser(client=client).until_over(task_ids[0])
    assert "interrupted, outcome unknown" in text_of(task)
    assert task["result"]["isError"] is True
    assert (world.workspace / "done").read_text() == "once\n"


async def test_a_call_at_work_when_its_server_ends_is_told_as_interrupted_by_the_next_at_once(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={}, settings=AT_WORK, files={"work.sh": "echo once >> done\nsleep 60\n"})
    async with using(world, limits=long_leases) as (user, _):
        task_id = await user.task("bash", command="sh work.sh")
        await until(anyio.Path(world.workspace / "done").exists)
    async with using(world) as (user, _):
        with anyio.fail_after(LONG):  # a fraction of the lease
            assert "interrupted, outcome unknown" in text_of(await user.until_over(task_id))


async def test_a_call_at_work_is_stopped_by_a_cancel(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={}, settings=AT_WORK, files={"work.sh": "sleep 60\n"})
    async with using(world) as (user, _):
        task_id = await user.task("bash", command="sh work.sh")
        await user.cancel(task_id)
        assert (await user.until_over(task_id))["status"] == "cancelled"
