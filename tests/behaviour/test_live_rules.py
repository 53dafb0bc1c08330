"""Rules, modes and files that change while the server runs: each decision reads them as they are then."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.client.client import Client

from mcp_server.cli.asked import text_of as text_of_prompt
from mcp_server.cli.whole import lines_of
from mcp_server.gateway.cards import Shown, card
from mcp_server.protocol.forms import message_of
from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice
from mcp_server.sessions.answers import close_with
from mcp_server.settings.folder import read_folder
from mcp_server.settings.trust import give_trust, withdraw_trust
from tests.behaviour.stories import (
    NEAR,
    agent,
    bounded,
    calls,
    content_of,
    each_era,
    errand,
    leaving_soon,
    refused_in,
    says,
    typed,
    until_told,
    write,
)
from tests.behaviour.world import Connected, World, connect, make_world, text_of
from tests.protocol.connect import Cell, Person, decides

BYPASS = {"mode": "bypassPermissions"}
ITS_RULES = ".remit/settings.yaml"
DONT_ASK = "nobody could be asked: "


def change(world: World, **values: object) -> None:
    """Other values in the person's settings."""
    file = world.places.config / "settings.yaml"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


async def wrote(client: Client, path: str) -> str:
    return text_of(await bounded(client.call_tool("write", {"filePath": path, "content": "x"})))


async def waits(connected: Connected, timing: Timing, path: str) -> str:
    """The same, of a call that leaves while a person is waited for."""
    with leaving_soon(timing):
        return text_of(await until_told(connected, "write", filePath=path, content="x"))


async def test_a_deny_written_behind_a_link_is_heard_at_the_next_decision(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=BYPASS)
    linked, real = world.places.config / "settings.yaml", tmp_path / "kept-elsewhere.yaml"
    linked.rename(real)
    linked.symlink_to(real)
    async with connect(world, NEAR) as connected:
        assert (await wrote(connected.client, "a.txt")).startswith("created")
        real.write_text(json.dumps({**BYPASS, "permission": {"edit": "deny"}}))
        assert (await wrote(connected.client, "b.txt")).startswith("denied by rule: ")


async def test_an_agent_in_a_linked_folder_is_read_anew_when_it_changes(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"worker": [calls(write("a.txt")), says("done")]}, settings=BYPASS)
    folder, real = world.places.config / "agents", tmp_path / "kept-elsewhere"
    folder.rename(real)
    folder.symlink_to(real)
    (real / "worker.md").write_text(agent())
    async with connect(world, NEAR) as connected:
        (real / "worker.md").write_text(agent("permission: {edit: deny}"))
        result = await bounded(connected.call("task", **errand("worker")))
    assert refused_in(result) == [("build › worker", "write", "denied by rule")]


@each_era
async def test_a_stricter_mode_is_heard_by_a_root_that_stands_and_a_wider_one_is_not(cell: Cell, tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=BYPASS)
    async with connect(world, cell) as connected:
        assert (await wrote(connected.client, "a.txt")).startswith("created")
        change(world, mode="dontAsk")
        assert (await wrote(connected.client, "b.txt")).startswith(DONT_ASK)
    change(world, mode="dontAsk")
    async with connect(world, cell) as connected:
        assert (await wrote(connected.client, "c.txt")).startswith(DONT_ASK)
        change(world, mode="bypassPermissions")
        assert (await wrote(connected.client, "c.txt")).startswith(DONT_ASK)


async def test_a_root_keeps_to_its_agents_own_mode_where_that_is_stricter(tmp_path: Path) -> None:
    world = make_world(
        tmp_path, settings={**BYPASS, "agent": "careful"}, agents={"careful": agent("permission_mode: dontAsk", mode="primary")}
    )
    async with connect(world, NEAR) as connected:
        assert (await wrote(connected.client, "a.txt")).startswith(DONT_ASK)


async def test_a_childs_own_mode_is_read_from_its_definition_as_it_is_now(tmp_path: Path) -> None:
    script = {"worker": [says("first"), calls(write("a.txt")), says("second")]}
    world = make_world(tmp_path, script=script, agents={"worker": agent()}, settings=BYPASS)
    async with connect(world, NEAR) as connected:
        first = await bounded(connected.call("task", **errand("worker")))
        (world.places.config / "agents" / "worker.md").write_text(agent("permission_mode: dontAsk"))
        assert first.structured_content is not None
        again = await bounded(connected.call("task", **errand("worker", task_id=first.structured_content["task_id"])))
    assert refused_in(again) == [("build › worker", "write", "nobody could be asked")]


async def test_an_ask_that_a_role_must_answer_is_not_lifted_by_whoever_sits_at_the_machine(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.places.managed.mkdir()
    rule = {"permission": "edit", "action": "ask", "answer_by": "approver"}
    (world.places.managed / "settings.yaml").write_text(json.dumps({"permission": [rule]}))
    timing = Timing()
    async with connect(world, NEAR, timing=timing) as connected:
        await waits(connected, timing, "a.txt")
        (prompt,) = await connected.open_prompts()
        assert not await close_with(connected.store, prompt, typed(Choice.ALLOW_ONCE))
        whole = "\n".join(line.text for line in lines_of(Shown(prompt=prompt)))
        shown = card(Shown(prompt=prompt), action="/", form_key="k").text
        for text in (message_of(prompt), text_of_prompt(prompt), whole, shown):
            assert "in the role `approver`" in text
        assert await close_with(connected.store, prompt, typed(Choice.DENY))
        assert (await wrote(connected.client, "a.txt")).startswith("denied by the person")


async def test_a_ruling_given_before_a_role_had_to_answer_lifts_nothing_since(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.places.managed.mkdir()
    rules = world.places.managed / "settings.yaml"
    rules.write_text(json.dumps({"permission": [{"permission": "edit", "action": "ask"}]}))
    timing = Timing()
    async with connect(world, NEAR, person=Person(decides("allow_tree")), timing=timing) as connected:
        assert (await wrote(connected.client, "a.txt")).startswith("created")
        (world.workspace / "a.txt").unlink()
        rules.write_text(json.dumps({"permission": [{"permission": "edit", "action": "ask", "answer_by": "approver"}]}))
        assert "somebody else, in the role approver, answers" in await waits(connected, timing, "a.txt")


def trusted_world(folder: Path) -> World:
    """A workspace that the person trusts, and that allows every edit."""
    world = make_world(folder, files={ITS_RULES: "permission: {edit: allow, webfetch: deny}\n"})
    workspace = world.workspace.resolve()
    give_trust(workspace, read_folder(workspace), world.places.state)
    return world


def broken_file(world: World) -> None:
    (world.workspace / ITS_RULES).write_text("permision: {edit: allow}\n")


def swapped_for_a_link(world: World) -> None:
    folder = world.workspace / ".remit"
    folder.rename(world.folder / "elsewhere")
    folder.symlink_to(world.folder / "elsewhere")


@pytest.mark.parametrize("spoil", [broken_file, swapped_for_a_link])
async def test_a_workspace_that_breaks_its_own_files_keeps_no_denial_of_the_person_from_being_heard(
    spoil: Callable[[World], None], tmp_path: Path
) -> None:
    world, timing = trusted_world(tmp_path), Timing()
    async with connect(world, NEAR, timing=timing) as connected:
        assert (await wrote(connected.client, "a.txt")).startswith("created")
        spoil(world)
        assert "waits for a person" in await waits(connected, timing, "b.txt"), "what is there now was never trusted"
        change(world, permission={"edit": "deny"})
        assert (await wrote(connected.client, "c.txt")).startswith("denied by rule: ")
        told = content_of(await bounded(connected.call("session_info")))
    assert "webfetch * deny" in [each["rule"] for each in told["denies"]], "what it denied before stays"


async def test_trust_is_withdrawn_at_once_from_a_workspace_whose_files_are_broken(tmp_path: Path) -> None:
    world, timing = trusted_world(tmp_path), Timing()
    async with connect(world, NEAR, timing=timing) as connected:
        broken_file(world)
        withdraw_trust(world.workspace.resolve(), world.places.state)
        assert "waits for a person" in await waits(connected, timing, "a.txt")
