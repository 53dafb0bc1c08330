"""`remit upstreams`: how each server was found last, its tools, its pins."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from mcp_server.cli.main import remit
from mcp_server.protocol.upstream import servers
from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import World, connect, make_world
from tests.bounds import LONG
from tests.upstream.scripted import Scripted, opener

SETTINGS: dict[str, Any] = {
    "mcpServers": {"play": {"command": "unused"}, "rest": {"url": "https://rest.example.org/mcp"}},
    "permission": {"play__*": "allow"},
}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list waits for the server however slow the machine: what is told is what it says now."""
    monkeypatch.setattr(servers, "KEPT_SECONDS", LONG)


def told(world: World, *arguments: str) -> str:
    variables = {
        "HOME": str(world.places.home),
        "REMIT_CONFIG_DIR": str(world.places.config),
        "REMIT_STATE_DIR": str(world.places.state),
        "REMIT_CACHE_DIR": str(world.places.cache),
    }
    words = ("upstreams", "--workspace", str(world.workspace), *arguments)
    ended = CliRunner(env=variables).invoke(remit, words)
    assert ended.exit_code == 0, ended.output
    return ended.output


async def use(world: World, play: Scripted) -> None:
    async with connect(world, NEAR, opener=opener({"play": play, "rest": Scripted()})) as connected:
        await bounded(connected.call("play__say", text="hi"))
        await bounded(connected.call("play__fail"))


def test_servers_are_shown_with_their_tools_pins_and_use(tmp_path: Path) -> None:
    world, play = make_world(tmp_path, settings=SETTINGS), Scripted()
    anyio.run(partial(use, world, play))
    rows = [line.split() for line in told(world).splitlines()]
    assert [row[:4] for row in rows[1:]] == [
        ["play", "unused", "at", "rest"],
        ["rest", "https://rest.example.org/mcp", "at", "rest"],
    ]
    assert rows[1][4:8] == ["2026-07-28", "3", "2", "1"]
    tools = {line.split()[0]: line for line in told(world, "play").splitlines()[1:]}
    assert "as it is" in tools["play__say"]
    assert "none yet" in tools["play__count"]
    play.descriptions["say"] = "Another."
    anyio.run(partial(listed_again, world, play))
    assert "changed: asks" in told(world, "play")
    (first, _) = map(json.loads, told(world, "--json").splitlines())
    assert first["protocol"] == "2026-07-28"
    assert {tool["name"]: tool.get("calls") for tool in first["tools"]} == {"play__say": 1, "play__fail": 1, "play__count": None}


async def listed_again(world: World, play: Scripted) -> None:
    async with connect(world, NEAR, opener=opener({"play": play, "rest": Scripted()})) as connected:
        await bounded(connected.client.list_tools())
