"""Servers that are killed, that end, and that share one store: nothing is lost and nothing is done twice."""

import os
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from mcp_server.policy.values import Action
from mcp_server.principal import LOCAL
from mcp_server.protocol.lines import Line
from mcp_server.records import Ending, PromptState, RunState
from mcp_server.sessions.front import Ended
from tests.behaviour.server_process import pid_file, ready_file, short_leases
from tests.behaviour.stories import (
    NEAR,
    answer_all,
    bounded,
    calls,
    content_of,
    errand,
    release,
    says,
    state_of,
    team_world,
    until,
    until_ended,
)
from tests.behaviour.world import Connected, World, connect, make_world
from tests.bounds import LONG
from tests.cradle.commands import module
from tests.protocol.connect import ROOT, Cell, Era, Person, after, client_of, connected, decides, stares

COUNT = "echo once >> count\nwhile [ ! -e go ]; do sleep 0.05; done\n"
"""Leaves a line each time it runs, and ends when it may."""

RUNS_COUNT = calls(("bash", {"command": "sh count.sh"}))
ALLOWED = {"permission": {"bash": "allow", "edit": "allow"}}


def counting_world(folder: Path) -> World:
    script = {"general": [RUNS_COUNT, {"text": "it said: {{results[0].text}}"}]}
    return make_world(folder, script=script, settings=ALLOWED, files={"count.sh": COUNT})


def counted(world: World) -> int:
    file = world.workspace / "count"
    return len(file.read_text().splitlines()) if file.exists() else 0


def kill(world: World) -> None:
    os.kill(int(pid_file(world).read_text()), signal.SIGKILL)


def command(world: World) -> tuple[str, ...]:
    return module("tests.behaviour.server_process", str(world.folder))


@asynccontextmanager
async def process(world: World, era: Era = "2026-07-28", person: Person | None = None) -> AsyncGenerator[Connected]:
    """A client of a server process that the test may kill."""
    cell = Cell(transport="stdio", era=era)
    async with connected(cell, server=_none, command_line=command(world), person=person) as client:
        store = world.store()
        try:
            yield Connected(client=client, store=store, parts=None)
        finally:
            await store.close()


def _none() -> Server[Line]:
    raise NotImplementedError


async def state_in(store_of: Connected, state: RunState) -> None:
    async def reached() -> bool:
        sessions = [session for session in await store_of.store.sessions(LOCAL.key) if session.parent_id is not None]
        runs = [await store_of.store.latest_run(session.id) for session in sessions]
        return any(run is not None and run.state is state for run in runs)

    await until(reached)


async def test_a_call_that_was_running_at_kill_9_is_named_interrupted_and_not_run_again(tmp_path: Path) -> None:
    world = counting_world(tmp_path)

    async def begun() -> bool:
        return counted(world) > 0

    async with process(world) as first:
        started = await bounded(first.call("task", **errand("general", background=True)))
        task_id = content_of(started)["task_id"]
        await until(begun)
        kill(world)
    async with connect(world, NEAR, limits=short_leases) as second:
        result = await bounded(until_ended(second, task_id))
        outcomes = [event.outcome for event in await second.audit() if event.kind == "outcome" and event.tool == "bash"]
    (world.workspace / "go").touch()
    assert outcomes == ["interrupted, outcome unknown"]
    assert state_of(result) == "completed"
    assert content_of(result)["result"].startswith("it said: interrupted, outcome unknown")
    assert counted(world) == 1


async def test_a_turn_that_was_awaited_at_kill_9_is_asked_for_again(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [calls(("read", {"filePath": "src/a.py"})), {"text": "done", "await": "ready"}]})
    async with process(world) as first:
        started = await bounded(first.call("task", **errand("general", background=True)))
        await state_in(first, RunState.RUNNING)
        kill(world)
    release(world, "ready")
    async with connect(world, NEAR, limits=short_leases) as second:
        result = await bounded(until_ended(second, content_of(started)["task_id"]))
        entries = await second.store.transcript(content_of(started)["task_id"])
    assert (state_of(result), content_of(result)["result"]) == ("completed", "done")
    assert [stored.entry.kind for stored in entries] == ["task", "turn", "started", "ended", "turn"]


async def test_a_prompt_outlives_kill_9_and_is_answered_after(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(stares)
    with suppress(MCPError, ExceptionGroup):
        async with process(world, person=person) as first, anyio.create_task_group() as group:
            group.start_soon(lambda: first.call("task", **errand("lead")))
            with anyio.fail_after(LONG):
                await person.sees_a_form()
            kill(world)
            group.cancel_scope.cancel()
    async with connect(world, NEAR, limits=short_leases) as second:
        (prompt,) = await second.open_prompts()
        lead = (await second.store.chain(prompt.session_id))[1].id
        waiting = await bounded(second.call("task_status", task_id=lead))
        await answer_all(second.store, [prompt])
        result = await bounded(until_ended(second, lead))
    assert [state_of(waiting), state_of(result)] == ["waiting", "completed"]
    assert (world.workspace / "out.txt").read_text() == "hello"


@asynccontextmanager
async def http_process(world: World, listening: socket.socket) -> AsyncGenerator[None]:
    """A server on this socket, which stays the test's: whoever follows a killed one has the same port, and nobody can take it meanwhile."""
    ready_file(world).unlink(missing_ok=True)
    handle = listening.fileno()
    running = await anyio.open_process([*command(world), "0"], cwd=ROOT, stdin=handle, stdout=None, stderr=None)
    try:
        await until(anyio.Path(ready_file(world)).exists)
        yield
    finally:
        with suppress(ProcessLookupError, FileNotFoundError):
            kill(world)
        with anyio.move_on_after(LONG, shield=True):
            await running.wait()
        with suppress(ProcessLookupError):
            running.kill()
        with anyio.CancelScope(shield=True):
            await running.aclose()


async def test_a_retry_after_a_restart_finds_its_child_and_starts_no_second(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    results: list[CallToolResult] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await restarted_under_a_client(world, listening, results)
    store = world.store()
    sessions = await store.sessions(LOCAL.key)
    await store.close()
    assert [state_of(result) for result in results] == ["completed"]
    assert sorted(session.agent for session in sessions) == ["build", "lead", "writer"]
    assert (world.workspace / "out.txt").read_text() == "hello"


async def restarted_under_a_client(world: World, listening: socket.socket, results: list[CallToolResult]) -> None:
    async with anyio.create_task_group() as group:
        again = anyio.Event()

        async def restarted() -> None:
            async with http_process(world, listening):
                again.set()
                await anyio.sleep_forever()

        async def restart() -> None:
            kill(world)
            group.start_soon(restarted)
            await again.wait()

        person = Person(after(restart, decides("allow_once")))
        async with http_process(world, listening), client_of(address(listening), "2026-07-28", person) as client:
            with anyio.fail_after(2 * LONG):
                results.append(await client.call_tool("task", errand("lead")))
        group.cancel_scope.cancel()


def address(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


async def test_two_servers_on_one_store_never_act_twice(tmp_path: Path) -> None:
    world = counting_world(tmp_path)
    async with process(world) as first, connect(world, NEAR, limits=short_leases) as second:
        ids = [
            content_of(await bounded(one.call("task", **errand("general", f"{number}", background=True))))["task_id"]
            for number, one in enumerate([first, second] * 3)
        ]

        async def all_begun() -> bool:
            return counted(world) >= len(ids)

        await until(all_begun)
        (world.workspace / "go").touch()
        results = [await bounded(until_ended(second, task_id)) for task_id in ids]
        entries = [await second.store.transcript(task_id) for task_id in ids]
    assert [state_of(result) for result in results] == ["completed"] * 6
    assert counted(world) == 6
    assert all([stored.entry.kind for stored in each] == ["task", "turn", "started", "ended", "turn"] for each in entries)


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_a_prompt_answered_through_one_server_wakes_the_other(era: Era, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(decides("allow_once"))
    async with process(world) as first:
        started = await bounded(first.call("task", **errand("lead", background=True)))
        task_id = content_of(started)["task_id"]
        await first.open_prompts()
        async with connect(world, Cell(transport="memory", era=era), person=person) as second:
            through = await bounded(until_ended(second, task_id))
        own = await bounded(until_ended(first, task_id))
    assert (state_of(through), state_of(own)) == ("completed", "completed")
    assert len(person.forms) == 1
    assert (world.workspace / "out.txt").read_text() == "hello"


async def test_a_clients_own_call_that_was_running_at_kill_9_is_not_run_again_by_a_retry(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"count.sh": COUNT})
    person = Person(decides("allow_session"))

    async def begun() -> bool:
        return counted(world) > 0

    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with (
            http_process(world, listening),
            client_of(address(listening), "2026-07-28", person) as client,
            anyio.create_task_group() as group,
        ):
            group.start_soon(lambda: client.call_tool("bash", {"command": "sh count.sh"}))
            await until(begun)
            kill(world)
            group.cancel_scope.cancel()
    store = world.store()
    (root,) = await store.sessions(LOCAL.key)
    async with connect(world, NEAR, limits=short_leases) as second:
        assert second.parts is not None
        (decided,) = [event for event in await second.audit() if event.kind == "decision" and event.action is Action.ALLOW]
        desk = second.parts.desk
        call_id = await desk.rejoin(root, decided.ref)
        with anyio.fail_after(LONG):
            settled = await desk.settle(root, call_id, seconds=LONG)
        await desk.detach(call_id)
    await store.close()
    (world.workspace / "go").touch()
    assert isinstance(settled, Ended)
    assert settled.result.ending is Ending.INTERRUPTED
    assert counted(world) == 1


async def test_at_end_of_file_the_server_exits_and_its_runs_go_on_with_the_next(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [{"text": "done", "await": "ready"}, says("never")]})
    async with process(world) as first:
        started = await bounded(first.call("task", **errand("general", background=True)))
        await state_in(first, RunState.RUNNING)
    pid = int(pid_file(world).read_text())

    async def gone() -> bool:
        return not await anyio.Path(f"/proc/{pid}").exists()

    await until(gone)
    store = world.store()
    run = await store.latest_run(content_of(started)["task_id"])
    await store.close()
    assert run is not None
    assert run.state is RunState.QUEUED
    release(world, "ready")
    async with connect(world, NEAR) as second:
        result = await bounded(until_ended(second, content_of(started)["task_id"]))
    assert content_of(result)["result"] == "done"


async def test_a_client_that_dies_in_mid_prompt_leaves_the_prompt_open(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(stares)
    with suppress(MCPError, ExceptionGroup):
        async with process(world, era="2025-11-25", person=person) as first, anyio.create_task_group() as group:
            group.start_soon(lambda: first.call("task", **errand("lead")))
            with anyio.fail_after(LONG):
                await person.sees_a_form()
            group.cancel_scope.cancel()
    store = world.store()
    (prompt,) = await store.prompts()
    await store.close()
    assert prompt.state is PromptState.OPEN
