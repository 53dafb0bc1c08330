"""`task_id`: an ended child is given more, under what holds now."""

from pathlib import Path

import pytest

from mcp_server.principal import LOCAL
from tests.behaviour.server_process import short_leases
from tests.behaviour.stories import NEAR, agent, bounded, calls, content_of, errand, refused_in, release, says, state_of, until_ended, write
from tests.behaviour.test_restart import kill, process
from tests.behaviour.world import World, connect, make_world, text_of
from tests.protocol.connect import Person, decides

GONE = "its definition is gone"


def definition(world: World, name: str = "worker") -> Path:
    return world.places.config / "agents" / f"{name}.md"


async def test_a_failed_child_is_given_more(tmp_path: Path) -> None:
    script = {"worker": [{"fail": "the provider is down"}, says("done")]}
    async with connect(make_world(tmp_path, script=script, agents={"worker": agent()}), NEAR) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
        again = await bounded(connected.call("task", **errand("worker", "again", task_id=content_of(first)["task_id"])))
    assert (state_of(first), content_of(first)["error"]) == ("error", "the provider is down")
    assert (state_of(again), content_of(again)["result"]) == ("completed", "done")


async def test_a_definition_that_changed_meanwhile_counts_at_once(tmp_path: Path) -> None:
    turns = [calls(write("one.txt")), says("first"), calls(write("two.txt")), says("second")]
    agents = {"worker": agent("permission: {edit: allow}")}
    settings = {"permission": {"edit": "allow"}}
    async with connect(make_world(tmp_path, script={"worker": turns}, agents=agents, settings=settings), NEAR) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
        definition(World(folder=tmp_path)).write_text(agent("permission: {edit: deny}"))
        again = await bounded(connected.call("task", **errand("worker", "more", task_id=content_of(first)["task_id"])))
    assert (refused_in(first), refused_in(again)) == ([], [("build › worker", "write", "denied by rule")])
    assert [(tmp_path / "workspace" / name).exists() for name in ("one.txt", "two.txt")] == [True, False]


async def test_a_rule_that_was_added_meanwhile_counts_for_a_child_that_is_resumed_after_a_restart(tmp_path: Path) -> None:
    turns = [says("first"), calls(write("two.txt")), says("second")]
    world = make_world(tmp_path, script={"worker": turns}, agents={"worker": agent()}, settings={"permission": {"edit": "allow"}})
    async with process(world) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
        kill(world)
    settings = world.places.config / "settings.yaml"
    settings.write_text(settings.read_text().replace('"edit": "allow"', '"edit": "deny"'))
    async with connect(world, NEAR, limits=short_leases) as connected:
        again = await bounded(connected.call("task", **errand("worker", "more", task_id=content_of(first)["task_id"])))
    assert refused_in(again) == [("build › worker", "write", "denied by rule")]


async def test_a_child_whose_definition_is_gone_is_said_to_be_so(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"worker": [says("first")], "general": [says("x")]}, agents={"worker": agent()})
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
        definition(world).unlink()
        task_id = content_of(first)["task_id"]
        same = await bounded(connected.call("task", **errand("worker", "more", task_id=task_id)))
        other = await bounded(connected.call("task", **errand("general", "more", task_id=task_id)))
        still = await bounded(connected.call("task_status", task_id=task_id))
    assert same.is_error
    assert f"`worker` can do no more: {GONE}" in text_of(same)
    assert f"is `worker`'s (and {GONE}), not `general`'s" in text_of(other)
    assert state_of(still) == "completed"


async def test_a_run_whose_definition_went_while_no_server_ran_ends_and_says_so(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"worker": [{"text": "done", "await": "ready"}]}, agents={"worker": agent()})
    async with connect(world, NEAR) as first:
        started = await bounded(first.call("task", **errand("worker", background=True)))
    definition(world).unlink()
    release(world, "ready")
    async with connect(world, NEAR) as second:
        result = await bounded(until_ended(second, content_of(started)["task_id"]))
    assert state_of(result) == "error"
    assert GONE in content_of(result)["error"]


@pytest.mark.parametrize("word", ["allow_once", "deny"])
async def test_resuming_is_asked_about_as_starting_is(word: str, tmp_path: Path) -> None:
    script = {"worker": [says("first"), says("second")]}
    settings = {"permission": {"task": "ask"}}
    person = Person(decides(word))
    world = make_world(tmp_path, script=script, agents={"worker": agent()}, settings=settings)
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
    async with connect(world, NEAR, person=person) as connected:
        again = await bounded(connected.call("task", **errand("worker", "more", task_id=content_of(first)["task_id"])))
        sessions = await connected.store.sessions(LOCAL.key)
    assert len(person.forms) == 1
    assert (again.is_error, len([session for session in sessions if session.depth])) == (word == "deny", 1)
