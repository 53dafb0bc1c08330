"""Lists that other servers change: whoever it concerns is told, in every pairing of eras, and nobody else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp_types import (
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)

from mcp_server.principal import LOCAL
from mcp_server.protocol import list_changes, other_news
from mcp_server.protocol.list_changes import Lists
from mcp_server.sessions.front import Caller
from tests.behaviour.stories import NEAR, bounded, until
from tests.behaviour.world import connect, make_world
from tests.protocol.connect import ERAS, Cell, Era
from tests.upstream.scripted import Scripted, ScriptedShelf, opener, told

ALLOWED: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}, "permission": {"play__*": "allow"}}

NOTICES = {
    "2025-11-25": (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification),
    "2026-07-28": (ToolsListChanged, PromptsListChanged, ResourcesListChanged),
}


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_a_client_is_told_of_each_list_that_a_server_changes_and_finds_it_changed(
    ours: Era, theirs: Era, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_news, "PACE", 0.01)
    play, heard = Scripted(shelf=(shelf := ScriptedShelf())), list[object]()

    async def turns(ctx: Any, _: Any) -> Any:
        play.does["new"] = play.does["say"]
        shelf.texts["note://new"] = "new"
        shelf.prompts["new"] = "new"
        await play.tell_of_changes(ctx)
        return told("turned")

    async def hears(message: object) -> None:
        heard.append(message)

    async def listens() -> None:
        async with client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True) as stream:
            listening.set()
            async for event in stream:
                heard.append(event)

    play.does["turn"] = turns
    world, cell, listening = make_world(tmp_path, settings=ALLOWED), Cell(transport="memory", era=ours), anyio.Event()
    async with (
        connect(world, cell, heard=hears, opener=opener({"play": play}, theirs)) as connected,
        anyio.create_task_group() as group,
    ):
        client = connected.client
        if ours == "2026-07-28":
            group.start_soon(listens)
            await bounded(listening.wait())
        before = await _offered(client)

        async def turned() -> bool:
            """Once more where Remit did not listen yet."""
            await connected.call("play__turn")
            new = [sorted(set(now) - set(then)) for now, then in zip(await _offered(client), before, strict=True)]
            told_of = all(any(isinstance(each, notice) for each in heard) for notice in NOTICES[ours])
            return told_of and new == [["play__new"], ["play__new"], ["remit://servers/play/note://new"]]

        await bounded(until(turned))
        group.cancel_scope.cancel()


async def _offered(client: Any) -> list[Sequence[str]]:
    return [
        [tool.name for tool in (await bounded(client.list_tools(cache_mode="refresh"))).tools],
        [prompt.name for prompt in (await bounded(client.list_prompts(cache_mode="refresh"))).prompts],
        [str(resource.uri) for resource in (await bounded(client.list_resources(cache_mode="refresh"))).resources],
    ]


async def test_nobody_is_told_of_what_is_not_theirs_or_has_not_changed(tmp_path: Path) -> None:
    play, world = Scripted(shelf=ScriptedShelf()), make_world(tmp_path, settings=ALLOWED)
    async with connect(world, NEAR, opener=opener({"play": play})) as connected:
        assert connected.parts is not None
        desk, deployment = connected.parts.desk, connected.parts.deployment
        await bounded(connected.client.list_tools())
        caller = Caller(principal=LOCAL, workspace=deployment.workspaces[0], agent="build")
        lists = Lists(desk, caller)
        lists.watch("tools", await bounded(list_changes.mark_of(desk, caller, "tools")))
        desk.news.tell("somebody else", "tools")
        assert await bounded(lists.look()) == ()
        desk.news.tell(caller.principal.key, "tools")
        assert await bounded(lists.look()) == (), "the server says so, and it is not so"
        play.does["new"] = play.does["say"]
        desk.news.tell(caller.principal.key, "prompts")
        assert await bounded(lists.look()) == (), "nobody watches them"
