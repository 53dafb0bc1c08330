"""Servers at an address: real HTTP in this process, with what it may answer."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from structlog.testing import capture_logs

from mcp_server.protocol.upstream.blotting import Blots
from mcp_server.protocol.upstream.link import Ends
from mcp_server.protocol.upstream.web import reached
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.foreign import Whose
from tests.behaviour.stories import NEAR, bounded, until
from tests.behaviour.world import World, connect, make_world, text_of
from tests.bounds import LONG
from tests.gateway.speaking import Speaker
from tests.ports import held_port
from tests.protocol.connect import served_http
from tests.upstream.scripted import Scripted, told

SHOWN = "of-chance-drawn"


class Answers(httpx2.AsyncBaseTransport):
    """The network, but for calls of tools while there is a status: they are answered by it, without a word of the server's."""

    def __init__(self, statuses: list[int]) -> None:
        self.inner = httpx2.AsyncHTTPTransport()
        self.statuses = statuses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.statuses and b'"tools/call"' in await request.aread():
            return httpx2.Response(self.statuses.pop(), request=request)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


def world_at(folder: Path, url: str) -> World:
    server = {"url": url, "headers": {"Authorization": "Bearer ${THEIR_TOKEN}"}}
    return make_world(folder, settings={"mcpServers": {"play": server}, "permission": {"play__*": "allow"}})


@asynccontextmanager
async def playing(play: Scripted) -> AsyncGenerator[str]:
    async with served_http(play.server()) as url:
        yield url


async def test_a_header_that_repeats_an_argument_must_agree_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_TOKEN", "of-chance-drawn")
    play = Scripted(schemas={"say": {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}})
    async with (
        playing(play) as theirs,
        connect(world_at(tmp_path, theirs), NEAR) as connected,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        assert connected.parts is not None
        async with served_http(connected.parts.server) as url:
            speaker = Speaker(wire=wire, url=url, token="none", era="2026-07-28")  # noqa: S106 - nobody is asked for one here
            params = {"name": "play__say", "arguments": {"text": "hi"}}
            statuses = [
                (await speaker.posted("tools/call", params, **headers)).status_code
                for headers in ({}, {"Mcp-Param-Text": "ho"}, {"Mcp-Param-Text": "hi"})
            ]
    assert statuses == [400, 400, 200]
    assert len(play.calls) == 1


async def test_a_server_at_an_address_is_called_with_its_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_TOKEN", "of-chance-drawn")
    play, seen = Scripted(), list[str]()

    async def looks(ctx: Any, _: Any) -> Any:
        seen.append(ctx.request.headers.get("authorization", ""))
        return told("looked")

    play.does["look"] = looks
    async with playing(play) as url, connect(world_at(tmp_path, url), NEAR) as connected:
        result = await bounded(connected.call("play__look"))
        counted = await bounded(connected.call("play__count"))
    assert (text_of(result), text_of(counted)) == ("looked", "counted")
    assert seen == ["Bearer of-chance-drawn"]


async def test_what_a_server_shows_of_the_headers_that_it_is_given_is_taken_out_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_TOKEN", SHOWN)
    shown = f"{SHOWN} and Bearer {SHOWN}"
    play = Scripted(descriptions={"show": shown})

    async def shows(_: Any, arguments: Any) -> Any:
        if arguments:
            raise MCPError(-32050, shown, data={SHOWN: shown})
        return told(shown, structured={SHOWN: [shown]})

    async def refuses(*_: Any) -> Any:
        raise MCPError(-32050, shown)

    play.does["show"] = shows
    with capture_logs() as logged:
        async with playing(play) as url, connect(world_at(tmp_path, url), NEAR) as connected:
            listed = await bounded(connected.client.list_tools())
            results = [await bounded(connected.call("play__show", **arguments)) for arguments in ({}, {"a": 1})]
            play.lister = refuses
        async with playing(play) as url, connect(world_at(tmp_path / "other", url), NEAR) as connected:
            await bounded(connected.client.list_tools())
            info = await bounded(connected.call("session_info"))
    blotted = "[secret] and Bearer [secret]"
    assert f"it answered with an error: {blotted}" in text_of(info)
    assert {each["why"] for each in logged if "why" in each} == {f"it answered with an error: {blotted}"}
    assert [text_of(each) for each in results] == [blotted, f"`play` answered with an error: {blotted}"]
    assert results[0].structured_content == {"[secret]": [blotted]}
    for said in (listed, results, info, logged):
        assert SHOWN not in repr(said)


async def test_a_server_that_cannot_be_connected_to_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_TOKEN", "of-chance-drawn")
    with held_port() as port:
        async with connect(world_at(tmp_path, f"http://127.0.0.1:{port}/mcp"), NEAR) as connected:
            await bounded(connected.client.list_tools())
            info = text_of(await bounded(connected.call("session_info")))
    assert "MCP server play: it cannot be connected to" in info


async def test_what_no_header_can_hold_is_named_by_the_header_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_TOKEN", "of-chance\ndrawn")
    async with connect(world_at(tmp_path, "http://127.0.0.1:9/mcp"), NEAR) as connected:
        await bounded(connected.client.list_tools())
        info = text_of(await bounded(connected.call("session_info")))
    assert "MCP server play: the header Authorization would hold what no header may" in info
    assert "chance" not in info


async def nobody_known() -> None:
    """The server asks nobody who they are."""


@pytest.mark.parametrize(
    ("status", "told_of"),
    [
        (401, "the call was not done: `play`: it asks for credentials, or refuses those it was given (401)"),
        (404, "the call was not done: `play`"),
        (502, "outcome unknown: `play`: it answered with HTTP status 502"),
    ],
)
async def test_what_http_says_tells_whether_a_call_was_done(
    status: int, told_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_TOKEN", "of-chance-drawn")
    play, statuses = Scripted(), list[int]()

    def way(name: str, config: Upstream, whose: Whose, ends: Ends) -> Any:
        return reached(config, whose, {"THEIR_TOKEN": "x" * 8}, ends.status, nobody_known, Blots().send, Answers(statuses))

    async with playing(play) as url, connect(world_at(tmp_path, url), NEAR, opener=way) as connected:
        assert text_of(await bounded(connected.call("play__say", text="before"))) == "said before"
        statuses.append(status)
        failed = await bounded(connected.call("play__say", text="lost"))

        async def said() -> bool:
            return text_of(await connected.call("play__say", text="after")) == "said after"

        await bounded(until(said))
    assert failed.is_error
    assert told_of in text_of(failed)
    assert [arguments["text"] for _, arguments in play.calls if "text" in arguments] == ["before", "after"]
