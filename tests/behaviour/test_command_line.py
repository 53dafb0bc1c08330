"""What a command line forbids stays forbidden for the runs that it started, whichever server goes on with them."""

from pathlib import Path

from mcp_server.policy.values import Action
from mcp_server.settings.values import Flags
from tests.behaviour.stories import NEAR, calls, content_of, errand, release, says, state_of, until_ended, write
from tests.behaviour.world import World, connect, make_world


def held_world(folder: Path) -> World:
    """A child that writes once it is released, in a place where the settings allow it."""
    script = {"general": [{**calls(write()), "await": "go"}, says("done")]}
    return make_world(folder, script=script, settings={"permission": {"edit": "allow"}})


async def test_a_run_keeps_what_the_command_line_of_its_start_denied(tmp_path: Path) -> None:
    """Ours: a run goes on under whichever server starts next, and must not gain by it."""
    world = held_world(tmp_path)
    strict = Flags(rules=((Action.DENY, "edit(*)"),))
    async with connect(world, NEAR, flags=strict) as connected:
        started = content_of(await connected.call("task", **errand("general", background=True)))
    release(world, "go")
    async with connect(world, NEAR) as connected:
        ended = await until_ended(connected, started["task_id"])
        assert state_of(ended) == "completed"
        assert [refused["ending"] for refused in content_of(ended)["refused"]] == ["denied by rule"]
    assert not (world.workspace / "out.txt").exists()


async def test_a_run_keeps_the_tools_that_the_command_line_of_its_start_left(tmp_path: Path) -> None:
    world = held_world(tmp_path)
    async with connect(world, NEAR, flags=Flags(tools="task,task_status,read")) as connected:
        started = content_of(await connected.call("task", **errand("general", background=True)))
    release(world, "go")
    async with connect(world, NEAR) as connected:
        ended = await until_ended(connected, started["task_id"])
        assert [refused["tool"] for refused in content_of(ended)["refused"]] == ["write"]
    assert not (world.workspace / "out.txt").exists()


async def test_an_allow_of_another_command_line_is_not_heard(tmp_path: Path) -> None:
    script = {"general": [{**calls(write()), "await": "go"}, says("done")]}
    world = make_world(tmp_path, script=script, settings={"permission": {"edit": "deny"}})
    async with connect(world, NEAR, flags=Flags(rules=((Action.ALLOW, "edit(*)"),))) as connected:
        started = content_of(await connected.call("task", **errand("general", background=True)))
    release(world, "go")
    async with connect(world, NEAR) as connected:
        ended = await until_ended(connected, started["task_id"])
        assert [refused["ending"] for refused in content_of(ended)["refused"]] == ["denied by rule"]
    assert not (world.workspace / "out.txt").exists()
