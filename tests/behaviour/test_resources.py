"""A client looks at its sessions as resources, and is told when they change, in every cell."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.session import IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification, TextResourceContents

from mcp_server.settings.values import Flags
from tests.behaviour.stories import NEAR, answer_all, at_rest, bounded, content_of, each_era, errand, team_world, until_ended
from tests.behaviour.world import Connected, World, connect
from tests.bounds import LONG
from tests.protocol.connect import Cell, each_cell, each_near_cell

pytestmark = pytest.mark.filterwarnings("ignore:resources/:mcp.shared.exceptions.MCPDeprecationWarning")
"""The SDK's word on requests that only the older era has."""

NOT_YOURS = "no session with that id is yours"
NOWHERE = "ses_" + "a" * 32


def address(session: str) -> str:
    return f"remit://sessions/{session}"


async def read(connected: Connected, uri: str) -> dict[str, Any]:
    with anyio.fail_after(LONG):
        (content,) = (await connected.client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "application/json")
    return json.loads(content.text)


async def listed(connected: Connected) -> list[str]:
    with anyio.fail_after(LONG):
        return [resource.uri for resource in (await connected.client.list_resources(cache_mode="bypass")).resources]


async def started(connected: Connected) -> str:
    """A `lead` that waits for its `writer`, who waits for a person."""
    result = await bounded(connected.call("task", **errand("lead", background=True)))
    await connected.open_prompts()
    await at_rest(connected, content_of(result)["task_id"])
    return content_of(result)["task_id"]


@each_cell
async def test_a_child_is_listed_while_it_works_and_read_with_all_below_it(cell: Cell, tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), cell) as connected:
        assert await listed(connected) == []
        templates = (await connected.client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["remit://sessions/{id}", "remit://sessions/{id}/transcript"]
        task_id = await started(connected)
        assert await listed(connected) == [address(task_id), f"{address(task_id)}/transcript"]
        seen = await read(connected, address(task_id))
        (writer,) = seen["children"]
        assert (seen["path"], seen["state"], seen["reason"]) == (["build", "lead"], "running", "waits for 1 child(ren)")
        assert (writer["agent"], writer["state"]) == ("writer", "waiting")
        assert "build › lead › writer: edit out.txt" in writer["waiting_for"][0]
        assert (seen["usage"]["turns"], seen["tree_usage"]["turns"]) == (1, 2)
        root = await read(connected, address(seen["root"]))
        assert [child["id"] for child in root["children"]] == [task_id]
        await answer_all(connected.store, await connected.open_prompts())
        await bounded(until_ended(connected, task_id))
        assert await listed(connected) == []
        ended = await read(connected, address(task_id))
        assert (ended["state"], ended["result"][:5]) == ("completed", "lead:")


@each_cell
async def test_a_transcript_is_read_as_it_is_kept_but_for_what_is_a_providers_own(cell: Cell, tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), cell) as connected:
        task_id = await started(connected)
        told = await read(connected, f"{address(task_id)}/transcript")
    assert [entry["kind"] for entry in told["entries"]][:2] == ["task", "turn"]
    (call,) = told["entries"][1]["calls"]
    assert (call["tool"], call["arguments"]["subagent_type"]) == ("task", "writer")
    assert "opaque" not in told["entries"][1]


@each_near_cell
@pytest.mark.parametrize(
    "uri",
    [
        address(NOWHERE),
        f"{address(NOWHERE)}/transcript",
        address("ses_1"),
        f"{address(NOWHERE)}/other",
        "remit://sessions/",
        "file:///etc/passwd",
    ],
)
async def test_what_is_unknown_or_malformed_is_told_in_one_wording(cell: Cell, uri: str, tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), cell) as connected:
        with pytest.raises(MCPError, match=NOT_YOURS) as refused:
            await read(connected, uri)
    assert refused.value.error.code == (-32602 if cell.era == "2026-07-28" else -32002)


@each_era
async def test_another_callers_sessions_are_as_unknown_as_those_that_are_not_there(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, NEAR) as connected:
        task_id = await started(connected)
        (prompt,) = await connected.open_prompts()
    async with connect(world, cell, flags=Flags(agent="plan")) as connected:
        assert await listed(connected) == []
        for uri in (address(task_id), f"{address(task_id)}/transcript", address(prompt.session_id), address(prompt.root_id)):
            with pytest.raises(MCPError, match=NOT_YOURS):
                await read(connected, uri)


@each_era
async def test_a_later_connection_of_the_same_caller_sees_what_an_earlier_one_started(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, NEAR) as connected:
        task_id = await started(connected)
    async with connect(world, cell) as connected:
        await connected.open_prompts()
        assert address(task_id) in await listed(connected)
        assert (await read(connected, address(task_id)))["id"] == task_id


async def test_looking_opens_no_session(tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), NEAR) as connected:
        await listed(connected)
        with pytest.raises(MCPError):
            await read(connected, address(NOWHERE))
        assert await connected.store.sessions("local") == ()


# ---- news ---------------------------------------------------------------------------------------


class Ear:
    """What the server says unasked, as it comes."""

    def __init__(self) -> None:
        self._send, self._news = anyio.create_memory_object_stream[str](100)
        self.heard: list[str] = []
        """All that was waited for or came before it."""

    async def __call__(self, message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self._send.send_nowait(message.params.uri)
        elif isinstance(message, ResourceListChangedNotification):
            self._send.send_nowait("list")

    async def hears(self, *wanted: str) -> None:
        """Wait until each of these has come."""
        left = set(wanted)
        with anyio.fail_after(LONG):
            while left:
                self.heard.append(await self._news.receive())
                left.discard(self.heard[-1])

    def close(self) -> None:
        self._send.close()
        self._news.close()


@asynccontextmanager
async def hearing(world: World, cell: Cell) -> AsyncGenerator[tuple[Connected, Ear]]:
    ear = Ear()
    try:
        async with connect(world, cell, heard=ear) as connected:
            yield connected, ear
    finally:
        ear.close()


OLD = pytest.mark.parametrize("cell", [Cell(transport=transport, era="2025-11-25") for transport in ("memory", "stdio", "http")], ids=str)
NEW = pytest.mark.parametrize("cell", [Cell(transport=transport, era="2026-07-28") for transport in ("memory", "stdio", "http")], ids=str)


@OLD
async def test_a_connection_up_to_2025_is_told_what_it_subscribed_to(cell: Cell, tmp_path: Path) -> None:
    async with hearing(team_world(tmp_path), cell) as (connected, ear):
        assert (capabilities := connected.client.server_capabilities) is not None
        assert capabilities.resources is not None
        assert (capabilities.resources.subscribe, capabilities.resources.list_changed) == (True, True)
        assert await listed(connected) == []
        task_id = await started(connected)
        await ear.hears("list")
        for uri in (address(task_id), f"{address(task_id)}/transcript"):
            await connected.client.session.subscribe_resource(uri)  # pyright: ignore[reportDeprecated] - the older era's way
        with pytest.raises(MCPError, match=NOT_YOURS):
            await connected.client.session.subscribe_resource(address(NOWHERE))  # pyright: ignore[reportDeprecated] - as above
        await answer_all(connected.store, await connected.open_prompts())
        await ear.hears(address(task_id), f"{address(task_id)}/transcript", "list")


@NEW
async def test_a_stream_of_2026_is_told_what_it_named_and_may_have(cell: Cell, tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), cell) as connected:
        task_id = await started(connected)
        own = [address(task_id), f"{address(task_id)}/transcript"]
        with anyio.fail_after(LONG):
            async with connected.client.listen(resources_list_changed=True, resource_subscriptions=[*own, address(NOWHERE)]) as stream:
                assert stream.honored.resource_subscriptions == own, "what is not the caller's is left out without a word"
                await answer_all(connected.store, await connected.open_prompts())
                left = {ResourceUpdated(uri=own[0]), ResourceUpdated(uri=own[1]), ResourcesListChanged()}
                async for event in stream:
                    left.discard(event)
                    if not left:
                        break


async def test_what_was_unsubscribed_is_told_no_more(tmp_path: Path) -> None:
    cell = Cell(transport="memory", era="2025-11-25")
    async with hearing(team_world(tmp_path), cell) as (connected, ear):
        await listed(connected)
        task_id = await started(connected)
        await ear.hears("list")
        session, transcript = address(task_id), f"{address(task_id)}/transcript"
        for uri in (session, transcript):
            await connected.client.session.subscribe_resource(uri)  # pyright: ignore[reportDeprecated] - the older era's way
        await connected.client.session.unsubscribe_resource(transcript)  # pyright: ignore[reportDeprecated] - as above
        await answer_all(connected.store, await connected.open_prompts())
        await ear.hears(session, "list")  # of one look, the list is told last
    assert transcript not in ear.heard
