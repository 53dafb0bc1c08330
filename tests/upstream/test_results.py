"""Another server's results whole: sound, resources, links, what is said of them, and structured content that was promised."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from mcp_server.policy.values import CallId
from mcp_server.protocol.upstream.addresses import LONGEST_URI, offered_uri, read_uri
from mcp_server.protocol.upstream.cleaning import cleaned
from mcp_server.protocol.upstream.naming import LARGEST_SCHEMA, definitions
from mcp_server.protocol.upstream.results import LARGEST_BYTES, LARGEST_STRUCTURE, MOST_BYTES, received
from mcp_server.protocol.wire import waiting
from mcp_server.sessions.front import Open
from tests.behaviour.stories import NEAR, bounded, calls, errand, says
from tests.behaviour.world import Connected, connect, make_world, text_of
from tests.protocol.connect import ERAS, Cell, Era
from tests.upstream.scripted import OBJECT, Scripted, opener, told

ALLOWED: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}, "permission": {"play__*": "allow"}}
SOUND = base64.b64encode(b"RIFF and so on").decode()
MARKED = Annotations(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z")
WHOLE: list[ContentBlock] = [
    TextContent(text="read", annotations=MARKED),
    ImageContent(data=SOUND, mime_type="image/png", annotations=MARKED),
    AudioContent(data=SOUND, mime_type="audio/wav", annotations=MARKED),
    EmbeddedResource(resource=TextResourceContents(uri="note://1", mime_type="text/plain", text="one"), annotations=MARKED),
    EmbeddedResource(resource=BlobResourceContents(uri="note://2", blob=SOUND)),
    ResourceLink(uri="note://3?a=b#c", name="three", title="Three", description="The third.", mime_type="text/plain", size=3),
]
SAID = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}


@asynccontextmanager
async def playing(
    folder: Path, content: list[ContentBlock] | None = None, *, ours: Era = "2026-07-28", theirs: Era = "2026-07-28", **outputs: Any
) -> AsyncGenerator[tuple[Connected, Scripted]]:
    async def shows(*_: Any) -> CallToolResult:
        return CallToolResult(content=content or [])

    play = Scripted(outputs=outputs)
    play.does["show"] = shows
    cell = Cell(transport="memory", era=ours)
    async with connect(make_world(folder, settings=ALLOWED), cell, opener=opener({"play": play}, theirs)) as connected:
        yield connected, play


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_a_result_comes_whole_with_its_uris_below_its_servers_name(ours: Era, theirs: Era, tmp_path: Path) -> None:
    async with playing(tmp_path, WHOLE, ours=ours, theirs=theirs, say=SAID) as (connected, _):
        listed = {tool.name: tool for tool in (await bounded(connected.client.list_tools())).tools}
        shown = await bounded(connected.call("play__show"))
        said = await bounded(connected.call("play__say", text="hi"))
    assert listed["play__say"].output_schema == SAID
    assert (said.structured_content, said.is_error) == ({"said": "hi"}, False)
    expected = [block.model_copy(deep=True) for block in WHOLE]
    for block in expected:
        match block:
            case EmbeddedResource(resource=resource):
                resource.uri = f"remit://servers/play/{resource.uri}"
            case ResourceLink():
                block.uri = f"remit://servers/play/{block.uri}"
            case _:
                pass
    assert shown.content == expected


async def test_a_subagents_model_gets_text_and_pictures_and_the_rest_in_words(tmp_path: Path) -> None:
    script = {"general": [calls(("play__show", {})), says("{{results[0].text}}")]}
    play = Scripted()

    async def shows(*_: Any) -> CallToolResult:
        return CallToolResult(content=WHOLE)

    play.does["show"] = shows
    world = make_world(tmp_path, script=script, settings=ALLOWED)
    async with connect(world, NEAR, opener=opener({"play": play})) as connected:
        told_of = text_of(await bounded(connected.call("task", **errand("general"))))
    assert "[audio/wav, 15 bytes, not shown]" in told_of
    assert "[resource remit://servers/play/note://1]\none" in told_of
    assert "[resource remit://servers/play/note://2: bytes, 15 bytes, not shown]" in told_of
    assert "[resource three: remit://servers/play/note://3?a=b#c (The third.)]" in told_of


async def test_structured_content_that_was_promised_and_does_not_come_is_told_as_an_error_that_says_that_it_was_done(
    tmp_path: Path,
) -> None:
    """Clients raise for a success without it, and its text would be lost."""

    async def large(*_: Any) -> CallToolResult:
        return told("large", structured={"said": "x" * LARGEST_STRUCTURE})

    async with playing(tmp_path, [TextContent(text="shown")], show=SAID, large=SAID) as (connected, play):
        play.does["large"] = large
        await bounded(connected.client.list_tools())
        for name, words in (("play__show", "shown"), ("play__large", "bytes was left out")):
            result = await bounded(connected.call(name))
            assert result.is_error
            assert words in text_of(result)
            assert f"`{name}` did what was asked" in text_of(result)
        denied = await bounded(connected.call("play__fail"))
    assert "did what was asked" not in text_of(denied)


def test_a_call_that_goes_on_without_its_request_is_no_success_to_a_client_that_was_promised_structure() -> None:
    found, _ = definitions("play", [Tool(name="say", input_schema=OBJECT, output_schema=SAID)])
    still = Open(call_id=CallId("call_x"), prompts=(), text="it waits", structured=None)
    assert waiting(found["say"].tool.spec, still).is_error


@pytest.mark.parametrize(
    "output",
    [{"type": "array"}, {}, {"type": "object", "description": "x" * LARGEST_SCHEMA}],
)
async def test_a_promise_that_no_client_could_hold_is_not_passed_on(output: dict[str, Any], tmp_path: Path) -> None:
    async with playing(tmp_path, ours="2025-11-25", say=output) as (connected, _):
        listed = {tool.name: tool for tool in (await bounded(connected.client.list_tools())).tools}
        said = await bounded(connected.call("play__say", text="hi"))
    assert listed["play__say"].output_schema is None
    assert said.structured_content == {"said": "hi"}


def test_what_is_too_large_or_cannot_be_addressed_is_told_in_words() -> None:
    whole = "A" * LARGEST_BYTES
    content: list[ContentBlock] = [
        AudioContent(data=whole + "AAAA", mime_type="audio/wav"),
        AudioContent(data="no base64", mime_type="audio/\x1bwav"),
        EmbeddedResource(resource=BlobResourceContents(uri="note://1", mime_type="a/b", blob=whole + "AAAA")),
        EmbeddedResource(resource=TextResourceContents(uri="note://\u202e1", text="\x1b[2Jone")),
        ResourceLink(uri="x" * (LONGEST_URI + 1), name="long\n\x07"),
        *[AudioContent(data=whole, mime_type="audio/wav")] * (MOST_BYTES // LARGEST_BYTES + 1),
        TextContent(text="x", annotations=Annotations(last_modified="\x1b[2J")),
    ]
    parts = received(CallToolResult(content=content), "play").parts
    texts = [getattr(part, "text", "") for part in parts]
    assert texts[:5] == [
        "[audio/wav, 3,932,163 bytes, not passed on]",
        "[audio/\ufffdwav that cannot be read]",
        "[a/b, 3,932,163 bytes, not passed on]",
        "[resource note://\ufffd1]\n\ufffd[2Jone",
        f"[resource long \ufffd: {'x' * 196} […]]",
    ]
    assert [part.kind for part in parts[5:9]] == ["audio", "audio", "audio", "text"]
    assert parts[-1].marks is not None
    assert parts[-1].marks.modified == ""


def test_marks_that_take_no_place_pass_alone_as_scripts_and_emoji_need_them_and_in_a_row_are_told_of() -> None:
    plain = "\ufeffنمی\u200cخواهم ❤\ufe0f\u200d🔥 soft\u00adhyphen"
    hidden = "".join(chr(0xE0100 + ord(letter)) for letter in "delete all")
    assert cleaned(plain) == plain
    assert cleaned(f"a{hidden}b\u200b\u200c\u200b\u200cc") == "a\ufffdb\ufffdc"


def test_an_offered_uri_leads_back_to_its_servers_own_and_no_other_does() -> None:
    for own in ("note://1", "file:///a b/ü?x=%2F#y", "remit://sessions/ses_a", "remit://servers/other/note://1"):
        assert read_uri(offered_uri("play", own)) == ("play", own)
    assert [read_uri(uri) for uri in ("remit://sessions/ses_a", "remit://servers/play", "remit://servers/play/", "note://1")] == [None] * 4
    assert read_uri("remit://servers/play/note://\n1") is None
