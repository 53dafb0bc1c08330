"""A call that its client takes back is taken back from the server that does it, in every pairing of eras; what others do there goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import ERAS, Cell, Era, served_http
from tests.upstream.scripted import Context, Scripted, opener, told

ALLOWED: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}, "permission": {"play__*": "allow"}}


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_a_server_is_told_that_a_call_was_taken_back_and_goes_on_with_the_others(ours: Era, theirs: Era, tmp_path: Path) -> None:
    play, begun, taken_back, go_on = Scripted(), anyio.Event(), anyio.Event(), anyio.Event()

    async def waits(_: Context, arguments: Mapping[str, Any]) -> Any:
        if arguments["text"] == "stays":
            await go_on.wait()
            return told("stayed")
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            taken_back.set()

    async def stays() -> None:
        kept.append(text_of(await connected.call("play__wait", text="stays")))

    play.does["wait"] = waits
    kept, world, cell = list[str](), make_world(tmp_path, settings=ALLOWED), Cell(transport="memory", era=ours)
    async with connect(world, cell, opener=opener({"play": play}, theirs)) as connected:
        async with anyio.create_task_group() as others:
            others.start_soon(stays)
            async with anyio.create_task_group() as group:
                group.start_soon(connected.client.call_tool, "play__wait", {"text": "goes"})
                await bounded(begun.wait())
                group.cancel_scope.cancel()
            await bounded(taken_back.wait())
            go_on.set()
        said = text_of(await bounded(connected.call("play__say", text="after")))
    assert (kept, said) == (["stayed"], "said after")
    assert sorted(arguments["text"] for _, arguments in play.calls) == ["after", "goes", "stays"]


async def test_a_server_at_an_address_finds_the_stream_closed_of_a_call_that_was_taken_back(tmp_path: Path) -> None:
    play, begun, taken_back = Scripted(), anyio.Event(), anyio.Event()

    async def waits(*_: Any) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            taken_back.set()

    play.does["wait"] = waits
    async with served_http(play.server()) as url:
        world = make_world(tmp_path, settings={**ALLOWED, "mcpServers": {"play": {"url": url}}})
        async with connect(world, NEAR) as connected:
            async with anyio.create_task_group() as group:
                group.start_soon(connected.client.call_tool, "play__wait")
                await bounded(begun.wait())
                group.cancel_scope.cancel()
            await bounded(taken_back.wait())
            assert text_of(await bounded(connected.call("play__say", text="after"))) == "said after"
