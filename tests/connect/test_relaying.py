"""Through the bridge a host of either era has what it would have at the server itself."""

import json
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice
from mcp_server.store.console_address import console_open
from tests.behaviour.stories import PATH, TEAM, bounded, calls, errand, refused_in, release, says, send, state_of, team_world
from tests.behaviour.test_links import CONSOLE, LINKS_FIRST, Later, OpensLinks, answered_in_console
from tests.behaviour.test_progress import Ear, sent
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.connect.bridging import Desk, bridged, desk_client, serving
from tests.protocol.connect import ERAS, ROOT, Era, Person, decides, stares
from tests.protocol.task_client import KnowsTasks, TaskUser, accepts, asked

each_era = pytest.mark.parametrize("era", ERAS)


@each_era
async def test_a_prompt_of_a_child_two_levels_down_is_answered_through_the_bridge(era: Era, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(decides("allow_once"))
    async with bridged(world, era, person=person) as connected:
        names = {tool.name for tool in (await connected.client.list_tools()).tools}
        assert {"read", "task"} <= names
        result = await bounded(connected.call("task", **errand("lead")))
    assert (world.workspace / "out.txt").read_text() == "hello"
    assert (state_of(result), refused_in(result)) == ("completed", [])
    (form,) = person.forms
    assert form.message.splitlines()[0] == f"{PATH} wants to use write:"


@each_era
async def test_a_link_is_opened_through_the_bridge_and_answered_in_the_console(era: Era, tmp_path: Path) -> None:
    world, person = team_world(tmp_path, settings=LINKS_FIRST), OpensLinks()
    with console_open(world.places.state, CONSOLE):
        async with bridged(world, era, person=person, heard=person.heard) as connected:
            ended = Later(connected.call("task", **errand("lead")))
            async with anyio.create_task_group() as group:
                group.start_soon(ended)
                await answered_in_console(connected, person, Choice.ALLOW_ONCE)
            (asked_for,) = [prompt.id for prompt in await connected.store.prompts()]
            if era == "2025-11-25":
                with anyio.fail_after(LONG):
                    await person.told_complete.wait()
                assert person.completed == [asked_for]
    assert (state_of(ended.result), [link.url for link in person.links]) == ("completed", [f"{CONSOLE}/prompts/{asked_for}"])
    assert person.forms == []


@each_era
async def test_progress_of_a_deep_child_comes_through_while_it_works(era: Era, tmp_path: Path) -> None:
    script = {
        "lead": [calls(send("writer")), says("lead: {{results[0].text}}")],
        "writer": [calls(("read", {"filePath": "src/a.py"})), {**says("read it"), "await": "go"}],
    }
    world = make_world(tmp_path, script=script, agents=TEAM)
    ear, results = Ear(), list[CallToolResult]()
    async with bridged(world, era, timing=Timing(progress_every=0.02)) as connected:

        async def call() -> None:
            results.append(await sent(connected, "lead", ear))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await ear.hears("build › lead › writer: read src/a.py")
            release(world, "go")
    assert state_of(results[0]) == "completed"


@each_era
async def test_a_call_that_the_host_gives_up_is_given_up_at_the_server_whose_run_waits_on(era: Era, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    person = Person(stares)
    async with bridged(world, era, person=person) as connected:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(connected.client.call_tool, "task", errand("lead"))
                await person.sees_a_form()
                group.cancel_scope.cancel()
        await connected.open_prompts()
        assert (await bounded(connected.call("read", filePath="README.md"))).is_error is False


async def test_a_task_is_held_asked_about_and_answered_through_the_bridge(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    with anyio.fail_after(4 * LONG):
        async with bridged(world, "2026-07-28", person=Person(stares), extensions=[KnowsTasks()]) as connected:
            user = TaskUser(client=connected.client)
            task_id = await user.task("task", **errand("lead"))
            ((key, _),) = asked(await user.until(task_id, "input_required")).items()
            await user.update(task_id, {key: accepts()})
            task = await user.until_over(task_id)
    assert task["result"]["structuredContent"]["state"] == "completed"
    assert (world.workspace / "out.txt").read_text() == "hello"


@each_era
async def test_two_bridges_of_one_person_do_not_disturb_each_other(era: Era, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with serving(world) as (url, _):
        first, second = Person(decides("allow_once")), Person(decides("deny"))
        desk = Desk(folder=tmp_path)
        async with desk_client(desk, url, era, person=first) as one, desk_client(desk, url, era, person=second) as other:
            results = dict[str, CallToolResult]()

            async def call(name: str, client: Client, path: str) -> None:
                results[name] = await client.call_tool("write", {"filePath": path, "content": name})

            with anyio.fail_after(2 * LONG):
                async with anyio.create_task_group() as group:
                    group.start_soon(call, "one", one, "one.txt")
                    group.start_soon(call, "other", other, "other.txt")
    assert (world.workspace / "one.txt").read_text() == "one"
    assert not (world.workspace / "other.txt").exists()
    assert (results["one"].is_error, results["other"].is_error) == (False, True)
    assert (len(first.forms), len(second.forms)) == (1, 1)


async def test_a_signal_ends_the_bridge_and_leaves_no_process(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    async with serving(world) as (url, _):
        command = Desk(folder=tmp_path).command(url)
        async with await anyio.open_process([command.command, *command.args], env=command.env, cwd=ROOT, stderr=None) as bridge:
            assert bridge.stdin is not None
            assert bridge.stdout is not None
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
            line = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
            await bridge.stdin.send(json.dumps(line).encode() + b"\n")
            with anyio.fail_after(LONG):
                heard = b""
                while b"\n" not in heard:
                    heard += await bridge.stdout.receive()
                assert json.loads(heard)["result"]["protocolVersion"] == "2025-11-25"
                bridge.terminate()
                assert await bridge.wait() == 0
