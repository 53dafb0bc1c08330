"""What a child may do is what its chain leaves it: denials, narrowing, limits and rulings, seen from the client."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult

from mcp_server.principal import LOCAL
from mcp_server.settings.values import Flags
from tests.behaviour.stories import (
    LIMITS_OF_TIME,
    NEAR,
    TEAM,
    agent,
    bounded,
    calls,
    content_of,
    errand,
    refused_in,
    release,
    says,
    send,
    state_of,
    team_world,
    until_ended,
    write,
)
from tests.behaviour.world import World, connect, make_world, text_of
from tests.protocol.connect import Person, after, decides

WRITES = [calls(write()), says("it says: {{results[0].text}}")]


def willing() -> Person:
    """Allows whatever is asked."""
    return Person(decides("allow_once"))


async def sent(world: World, person: Person | None = None, flags: Flags | None = None, **arguments: Any) -> CallToolResult:
    """One `task` of the client's own, from connection to result."""
    async with connect(world, NEAR, person=person, flags=flags) as connected:
        return await bounded(connected.call("task", **arguments))


def wrote(world: World, name: str = "out.txt") -> bool:
    return (world.workspace / name).exists()


# ---- who may be sent ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("plan", "`plan` is a primary agent and cannot be sent"),
        ("summary", "`summary` is not a subagent"),
        ("nobody", "`nobody` is not a subagent"),
    ],
)
async def test_who_cannot_be_sent_is_refused_with_the_names_of_who_can(name: str, why: str, tmp_path: Path) -> None:
    result = await sent(make_world(tmp_path, script={"general": WRITES}), **errand(name))
    assert result.is_error
    assert why in text_of(result)
    assert "explore (" in text_of(result)
    assert "general (" in text_of(result)


async def test_a_spawn_that_widens_asks_and_shows_what_would_be_new(tmp_path: Path) -> None:
    editor = agent("permission:", "  edit: allow")
    world = make_world(tmp_path, script={"editor": WRITES}, agents={"editor": editor})
    person = Person(decides("allow_once"))
    result = await sent(world, person, **errand("editor"))
    (form,) = person.forms
    assert "`task editor` would widen: it may `edit *` without asking, its caller may not" in form.message
    assert (state_of(result), wrote(world)) == ("completed", True)


async def test_a_child_may_not_spawn_or_keep_lists_unless_its_definition_names_that(tmp_path: Path) -> None:
    todo = ("todowrite", {"todos": [{"content": "x", "status": "pending", "priority": "low"}]})
    script = {"general": [calls(send("explore"), todo), says("done")]}
    result = await sent(make_world(tmp_path, script=script), willing(), **errand("general"))
    assert sorted(refused_in(result)) == [
        ("build › general", "task", "denied by rule"),
        ("build › general", "todowrite", "denied by rule"),
    ]


# ---- what a child may not -------------------------------------------------------------------------


async def test_what_its_caller_may_not_edit_a_child_may_not_either(tmp_path: Path) -> None:
    planner = agent("permission:", "  edit: deny", mode="primary")
    world = make_world(tmp_path, script={"general": WRITES}, agents={"planner": planner})
    result = await sent(world, willing(), Flags(agent="planner"), **errand("general"))
    assert not wrote(world)
    assert refused_in(result) == [("planner › general", "write", "denied by rule")]
    assert "agent planner" in content_of(result)["refused"][0]["reason"]


async def test_plan_sends_no_agent_that_could_write_for_it(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": WRITES})
    result = await sent(world, willing(), Flags(agent="plan"), **errand("general"))
    assert result.is_error
    assert "a plan sends no agent that may change things" in text_of(result)


async def test_plan_cannot_be_escaped_even_where_the_person_lets_it_send_others(tmp_path: Path) -> None:
    settings = {"agents": {"plan": {"permission": {"task": {"general": "allow"}}}}}
    world = make_world(tmp_path, script={"general": WRITES}, settings=settings)
    result = await sent(world, willing(), Flags(agent="plan", mode="bypassPermissions"), **errand("general"))
    assert not wrote(world)
    assert refused_in(result) == [("plan › general", "write", "denied by rule")]


async def test_a_headless_agent_asks_nobody(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"quiet": WRITES}, agents={"quiet": agent("prompts: deny")})
    person = Person(decides("allow_once"))
    result = await sent(world, person, **errand("quiet"))
    assert (person.forms, wrote(world)) == ([], False)
    assert refused_in(result) == [("build › quiet", "write", "nobody could be asked")]


async def test_narrowed_tools_take_away_and_grant_nothing(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": WRITES})
    person = Person(decides("allow_once"))
    result = await sent(world, person, **errand("general", tools=["read", "grep"]))
    assert (person.forms, wrote(world)) == ([], False)
    assert refused_in(result) == [("build › general", "write", "denied by rule")]


async def test_a_tool_that_is_not_there_refuses_the_whole_spawn(tmp_path: Path) -> None:
    result = await sent(make_world(tmp_path, script={"general": WRITES}), **errand("general", tools=["raed"]))
    assert result.is_error
    assert "raed do not exist" in text_of(result)


async def test_a_ceiling_is_read_at_each_decision(tmp_path: Path) -> None:
    world = team_world(tmp_path, {**calls(write()), "await": "ready"}, says("done"))
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        lead = world.places.config / "agents" / "lead.md"
        lead.write_text(TEAM["lead"].replace("permission:\n", "permission:\n  edit: deny\n"))
        release(world, "ready")
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    assert not wrote(world)
    assert refused_in(result) == [("build › lead › writer", "write", "denied by rule")]


# ---- rulings --------------------------------------------------------------------------------------


async def test_a_session_ruling_is_not_heard_in_another_session(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": WRITES})
    person = Person(decides("allow_session"), decides("deny"))
    async with connect(world, NEAR, person=person) as connected:
        await bounded(connected.call("task", **errand("general", "first")))
        result = await bounded(connected.call("task", **errand("general", "second")))
    assert len(person.forms) == 2
    assert refused_in(result) == [("build › general", "write", "denied by the person")]


@pytest.mark.parametrize(("reach", "forms"), [("allow_tree", 1), ("allow_session", 2)])
async def test_a_tree_ruling_reaches_descendants_and_a_session_ruling_does_not(reach: str, forms: int, tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": WRITES})
    person = Person(decides(reach), decides("deny"))
    async with connect(world, NEAR, person=person) as connected:
        await bounded(connected.call("write", filePath="out.txt", content="mine"))
        await bounded(connected.call("task", **errand("general")))
    assert len(person.forms) == forms


async def test_a_ruling_is_handed_down_only_when_the_person_agrees(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [calls(write(content="child")), says("done")]})
    person = Person(decides("allow_session"), decides("allow_once"), decides("deny"))
    async with connect(world, NEAR, person=person) as connected:
        await bounded(connected.call("write", **write(content="root")[1]))
        info = await bounded(connected.call("session_info"))
        (ruling,) = content_of(info)["rulings"]
        await bounded(connected.call("task", **errand("general", inherit=[ruling["id"]])))
        refused = await bounded(connected.call("task", **errand("general", "again", inherit=[ruling["id"]])))
    assert "`task general` would hand down: edit out.txt allow" in person.forms[1].message
    assert len(person.forms) == 3, "the child's own write asked nobody"
    assert refused.is_error
    assert "denied by the person" in text_of(refused)


@pytest.mark.parametrize("ruling", ["rul_" + "a" * 32, "nonsense", ""])
async def test_a_ruling_that_is_not_the_callers_refuses_the_spawn(ruling: str, tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": WRITES})
    result = await sent(world, willing(), **errand("general", inherit=[ruling]))
    assert result.is_error
    assert text_of(result).startswith("no ruling with that id is yours")


async def test_a_childs_ruling_is_not_its_callers_to_hand_down(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": WRITES})
    async with connect(world, NEAR, person=Person(decides("allow_session"))) as connected:
        await bounded(connected.call("task", **errand("general")))
        (ruling,) = await connected.store.rulings(principal=LOCAL.key)
        result = await bounded(connected.call("task", **errand("general", "again", inherit=[ruling.id])))
    assert text_of(result).startswith("no ruling with that id is yours")


# ---- limits ---------------------------------------------------------------------------------------


async def test_a_tree_gets_no_deeper_than_its_limit(tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={"limits": {"depth": 1}})
    result = await sent(world, willing(), **errand("lead"))
    assert "children may stand at most 1 below the root" in text_of(result)
    assert not wrote(world)


async def test_a_session_has_no_more_children_at_once_than_its_limit(tmp_path: Path) -> None:
    script = {"general": [{"text": "done", "await": "ready"}]}
    world = make_world(tmp_path, script=script, settings={"limits": {"children": 1}})
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("general", background=True)))
        second = await bounded(connected.call("task", **errand("general", "another", background=True)))
        release(world, "ready")
        done = await bounded(until_ended(connected, content_of(first)["task_id"]))
        third = await bounded(connected.call("task", **errand("general", "a third")))
    assert "1 children are at work already" in text_of(second)
    assert (state_of(done), state_of(third)) == ("completed", "completed")


async def test_the_third_same_call_running_asks_whether_it_is_a_loop(tmp_path: Path) -> None:
    again = calls(("read", {"filePath": "src/a.py"}))
    world = make_world(tmp_path, script={"general": [again, again, again, says("done")]})
    person = Person(decides("deny", "look elsewhere"))
    result = await sent(world, person, **errand("general"))
    assert "Needs: doom_loop read" in person.forms[0].message
    assert refused_in(result) == [("build › general", "read", "denied by the person")]


@pytest.mark.parametrize(
    ("lines", "limits", "words"),
    [
        (["steps: 1"], {}, "stopped at its limit: 1 steps"),
        ([], {"tokens": 10}, "stopped at its limit: 10 tokens"),
    ],
    ids=["steps", "tokens"],
)
async def test_a_run_past_its_limit_ends_as_an_error_with_what_there_is(
    lines: list[str], limits: dict[str, int], words: str, tmp_path: Path
) -> None:
    first = {**calls(("read", {"filePath": "src/a.py"}), text="half of it"), "usage": {"input_tokens": 8, "output_tokens": 8}}
    script = {"worker": [first, {"text": "never said", "await": "never"}]}
    world = make_world(tmp_path, script=script, agents={"worker": agent(*lines)}, settings={"limits": limits})
    result = await sent(world, **errand("worker"))
    assert (result.is_error, state_of(result)) == (True, "error")
    assert (content_of(result)["error"], content_of(result)["result"]) == (words, "half of it")


async def test_a_run_past_its_time_ends_as_an_error_with_what_there_is(tmp_path: Path) -> None:
    script = {"worker": [calls(("read", {"filePath": "src/a.py"}), text="half of it"), {"text": "never said", "await": "never"}]}
    said = None
    for seconds in LIMITS_OF_TIME:
        world = make_world(tmp_path / f"{seconds}", script=script, agents={"worker": agent(f"timeout: {seconds}")})
        result = await sent(world, **errand("worker"))
        assert (result.is_error, state_of(result)) == (True, "error")
        assert content_of(result)["error"] == "stopped at its limit: time"
        if (said := content_of(result)["result"]) is not None:
            break
    assert said == "half of it"


async def test_waiting_for_a_person_is_not_the_runs_time(tmp_path: Path) -> None:
    ended: list[tuple[str, bool]] = []
    for seconds in LIMITS_OF_TIME[:2]:
        world = make_world(tmp_path / f"{seconds}", script={"worker": WRITES}, agents={"worker": agent(f"timeout: {seconds}")})

        async def later(seconds: float = seconds) -> None:
            await anyio.sleep(seconds + 0.2)  # the limit itself is what is tested

        result = await sent(world, Person(after(later, decides("allow_once"))), **errand("worker"))
        ended.append((state_of(result), wrote(world)))
        if ended[-1][0] == "completed":
            break
    assert ended[-1] == ("completed", True)
