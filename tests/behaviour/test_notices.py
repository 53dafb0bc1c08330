"""Whoever settings name is told that a prompt waits, and that it is over; and no call waits for that."""

import base64
import os
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp_server.app import running
from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice
from mcp_server.settings.values import Flags
from tests.behaviour.stories import NEAR, answer_all, bounded, team_world, until_told
from tests.behaviour.world import World, connect, make_world, text_of
from tests.gateway.notices.desk import desk
from tests.gateway.notices.receiver import STALL, Receiver, receiving
from tests.protocol.connect import Cell, Person, decides, each_cell

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def hooked(folder: Path, receiver: Receiver, *, team: bool = False) -> World:
    secret = folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    settings: dict[str, Any] = {
        "channels": ["elicitation", "terminal", "webhook"],
        "webhook": {"url": receiver.url, "secret_file": str(secret)},
        "limits": {"task_wait": 0.5},
    }
    return team_world(folder, settings=settings) if team else make_world(folder, settings=settings)


@each_cell
async def test_a_prompt_and_its_end_are_told_signed_whatever_the_client(cell: Cell, tmp_path: Path) -> None:
    async with receiving() as receiver, connect(hooked(tmp_path, receiver), cell, timing=Timing(patience=0.5)) as connected:
        await until_told(connected, "write", filePath="a.txt", content="the whole content")
        (prompt,) = await connected.open_prompts()
        first, *_ = await receiver.hears_of(f"{prompt.id}_opened")
        await answer_all(connected.store, (prompt,), Choice.DENY)
        got = await receiver.hears_of(f"{prompt.id}_closed")
    said = first.checked(SECRET)["data"]
    assert (said["prompt"], said["agents"], said["tool"], said["summary"]) == (prompt.id, ["build"], "write", "edit a.txt")
    closed = next(one for one in got if one.id == f"{prompt.id}_closed").checked(SECRET)["data"]
    assert (closed["state"], closed["choice"]) == ("answered", "deny")
    assert not any(b"the whole content" in one.body for one in got)


async def test_a_subagents_prompt_names_its_path(tmp_path: Path) -> None:
    async with receiving() as receiver, connect(hooked(tmp_path, receiver, team=True), NEAR) as connected:
        await until_told(connected, "task", description="a job", prompt="do it", subagent_type="lead")
        await connected.open_prompts()
        first, *_ = await receiver.gets(1)
    assert first.said["data"]["agents"] == ["build", "lead", "writer"]


async def test_of_two_servers_on_one_store_the_one_that_asks_tells_and_tells_once(tmp_path: Path) -> None:
    async with receiving() as receiver:
        world = hooked(tmp_path, receiver)
        async with AsyncExitStack() as both:
            for _ in range(2):
                await both.enter_async_context(
                    running(workspace=world.workspace, places=world.places, flags=Flags(), environment=os.environ)
                )
            connected = await both.enter_async_context(connect(world, NEAR, timing=Timing(patience=0.5)))
            await until_told(connected, "write", filePath="a.txt", content="x")
            (prompt,) = await connected.open_prompts()
            await receiver.hears_of(f"{prompt.id}_opened")
            await answer_all(connected.store, (prompt,), Choice.DENY)
            await receiver.hears_of(f"{prompt.id}_closed")
    assert Counter(one.id for one in receiver.got) == {f"{prompt.id}_opened": 1, f"{prompt.id}_closed": 1}


async def test_a_receiver_that_stalls_holds_no_call_up(tmp_path: Path) -> None:
    async with receiving(*[STALL] * 8) as receiver:
        world = hooked(tmp_path, receiver)
        async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
            for name in ("a.txt", "b.txt"):
                assert not (await bounded(connected.call("write", filePath=name, content="x"))).is_error
        assert sorted(path.name for path in world.workspace.glob("*.txt")) == ["a.txt", "b.txt"]


async def test_what_ends_with_its_connection_is_told_before_the_server_goes(tmp_path: Path) -> None:
    async with receiving() as receiver:
        async with connect(hooked(tmp_path, receiver), NEAR, timing=Timing(patience=0.5)) as connected:
            await until_told(connected, "write", filePath="a.txt", content="x")
            (prompt,) = await connected.open_prompts()
            await receiver.hears_of(f"{prompt.id}_opened")
        (closed,) = [one for one in await receiver.hears_of(f"{prompt.id}_closed") if one.id.endswith("_closed")]
    assert closed.said["data"]["state"] == "withdrawn"


async def test_the_desktop_shows_a_prompt_and_takes_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(tmp_path, settings={"channels": ["terminal", "desktop"]})
    with tempfile.TemporaryDirectory(prefix="remit") as folder:
        async with desk(Path(folder)) as there:
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", there.address)
            async with connect(world, NEAR, timing=Timing(patience=0.5)) as connected:
                await until_told(connected, "write", filePath="a.txt", content="x")
                (prompt,) = await connected.open_prompts()
                (shown,) = await there.shows(1)
                assert shown.body == f"edit a.txt\nAnswer by: remit approvals show {prompt.id}"
                await answer_all(connected.store, (prompt,), Choice.DENY)
                await there.until(lambda there: there.closed == [shown.number])


async def test_a_desktop_that_shows_nothing_harms_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(tmp_path, settings={"channels": ["terminal", "desktop"]})
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus")
    async with connect(world, NEAR, timing=Timing(patience=0.5)) as connected:
        waiting = await until_told(connected, "write", filePath="a.txt", content="x")
        (prompt,) = await connected.open_prompts()
        assert f"remit approvals approve {prompt.id}" in text_of(waiting)
