"""`remit upstreams`: how each server was found last, its tools, its pins."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from click.testing import CliRunner, Result

from mcp_server.cli.main import remit
from mcp_server.protocol.upstream import servers
from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import World, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import ROOT
from tests.upstream.guarded_server import guarded
from tests.upstream.scripted import Scripted, ScriptedShelf, opener

STAND_IN = str(ROOT / "tests/connect/stand_in.py")

SETTINGS: dict[str, Any] = {
    "mcpServers": {"play": {"command": "unused"}, "rest": {"url": "https://rest.example.org/mcp?key=drawn-by-chance"}},
    "permission": {"play__*": "allow"},
}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list waits for the server however slow the machine: what is told is what it says now."""
    monkeypatch.setattr(servers, "KEPT_SECONDS", LONG)


def told(world: World, *arguments: str, **environment: str) -> str:
    ended = run(world, *arguments, **environment)
    assert ended.exit_code == 0, ended.output
    return ended.output


def run(world: World, *arguments: str, **environment: str) -> Result:
    variables = {
        **environment,
        "HOME": str(world.places.home),
        "REMIT_CONFIG_DIR": str(world.places.config),
        "REMIT_STATE_DIR": str(world.places.state),
        "REMIT_CACHE_DIR": str(world.places.cache),
    }
    words = ("upstreams", "--workspace", str(world.workspace), *arguments)
    return CliRunner(env=variables).invoke(remit, words)


async def use(world: World, play: Scripted) -> None:
    async with connect(world, NEAR, opener=opener({"play": play, "rest": Scripted()})) as connected:
        await bounded(connected.call("play__say", text="hi"))
        await bounded(connected.call("play__fail"))
        await bounded(connected.client.list_prompts())


def test_servers_are_shown_with_their_tools_pins_and_use(tmp_path: Path) -> None:
    world, play = make_world(tmp_path, settings=SETTINGS), Scripted(shelf=ScriptedShelf(texts={"note://1": "one", "note://\u202e": "no"}))
    anyio.run(partial(use, world, play))
    rows = [line.split() for line in told(world).splitlines()]
    assert [row[:4] for row in rows[1:3]] == [
        ["play", "unused", "at", "rest"],
        ["rest", "https://rest.example.org/mcp", "at", "rest"],
    ]
    assert "drawn-by-chance" not in told(world) + told(world, "--json"), "an address may hold a key"
    assert rows[1][4:10] == ["2026-07-28", "3", "2", "1", "2", "1"]
    assert rows[2][4:8] == ["2026-07-28", "3", "0", "0"]
    tools = {line.split()[0]: line for line in told(world, "play").splitlines()[1:] if line}
    assert "as it is" in tools["play__say"]
    assert "none yet" in tools["play__count"]
    play.descriptions["say"] = "Another."
    anyio.run(partial(listed_again, world, play))
    assert "changed: asks" in told(world, "play")
    (first, _) = map(json.loads, told(world, "--json").splitlines())
    assert first["protocol"] == "2026-07-28"
    assert {tool["name"]: tool.get("calls") for tool in first["tools"]} == {"play__say": 1, "play__fail": 1, "play__count": None}
    assert [one["uri"] for one in first["resources"]] == ["remit://servers/play/note://1"]
    assert [one["template"] for one in first["templates"]] == ["remit://servers/play/note://{n}"]
    greet = {"name": "play__greet", "title": "greet (play)", "arguments": [{"name": "whom", "required": True}]}
    assert first["prompts"] == [greet]
    assert any("its URI cannot be passed on" in line for line in first["left_out"])
    shown = told(world, "play")
    assert all(line in shown for line in ("remit://servers/play/note://1 ", "remit://servers/play/note://{n} ", "play__greet  whom"))
    assert "\u202e" not in shown


async def listed_again(world: World, play: Scripted) -> None:
    async with connect(world, NEAR, opener=opener({"play": play, "rest": Scripted()})) as connected:
        await bounded(connected.client.list_tools())


def agrees(address: str) -> bool:
    """A browser whose person agrees to everything."""
    return subprocess.run([sys.executable, STAND_IN, address], check=False).returncode == 0


async def test_this_machines_user_signs_in_to_a_server_that_knows_people_and_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", agrees)
    notes = Scripted()
    async with guarded(notes.server()) as server:
        settings: dict[str, Any] = {"mcpServers": {"notes": {"url": server.url, "oauth": {}}}, "permission": {"notes__*": "allow"}}
        world = make_world(tmp_path, settings=settings)
        async with connect(world, NEAR) as connected:
            refused = text_of(await bounded(connected.call("notes__say", text="hi")))
            assert "a person must run `remit upstreams notes --sign-in` in a terminal" in refused
            assert server.probed == 0
            assert "you are signed in to notes" in await to_thread.run_sync(partial(told, world, "notes", "--sign-in"))
            assert text_of(await bounded(connected.call("notes__say", text="hi"))) == "said hi"
        assert "you are signed out of notes" in await to_thread.run_sync(partial(told, world, "notes", "--sign-out"))
        assert "nobody was signed in to notes" in await to_thread.run_sync(partial(told, world, "notes", "--sign-out"))
        assert "/revoke" in server.issuer.asked


def test_a_sign_in_needs_a_server_that_has_one(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=SETTINGS)
    alone, other = run(world, "--sign-in"), run(world, "rest", "--sign-in")
    assert "--sign-in needs the server's name" in alone.output
    assert "its settings have no `oauth`" in other.output
    assert (alone.exit_code, other.exit_code != 0) == (2, True)
