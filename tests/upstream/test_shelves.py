"""Other servers' resources and prompts beside Remit's own, in every pairing of eras: listed, judged, read, filled in."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    ElicitRequestFormParams,
    EmbeddedResource,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from mcp_server.policy.silence import KINDS
from mcp_server.principal import LOCAL
from mcp_server.protocol.resources import NOT_FOUND
from mcp_server.protocol.upstream import shelves as shelves_module
from mcp_server.protocol.upstream.naming import offered_name
from mcp_server.protocol.upstream.results import LARGEST_BYTES
from mcp_server.protocol.upstream.shelving import MOST
from mcp_server.sessions.front import Caller
from mcp_server.sessions.readers import shelves_for
from mcp_server.settings.membership import Membership
from tests.behaviour.stories import NEAR, bounded, calls, errand, says
from tests.behaviour.world import Connected, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import ERAS, Cell, Era, Person, accepts, decides
from tests.upstream.scripted import Scripted, ScriptedShelf, opener

PLAY: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}}
BOTH: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}, "other": {"command": "unused"}}}
ONE = "remit://servers/play/note://1"


@asynccontextmanager
async def reading(
    folder: Path,
    shelf: ScriptedShelf,
    *,
    ours: Era = "2026-07-28",
    theirs: Era = "2026-07-28",
    settings: dict[str, Any] = PLAY,
    person: Person | None = None,
) -> AsyncGenerator[Connected]:
    servers = {name: Scripted(shelf=shelf if name == "play" else ScriptedShelf()) for name in settings["mcpServers"]}
    cell = Cell(transport="memory", era=ours)
    async with connect(make_world(folder, settings=settings), cell, person=person, opener=opener(servers, theirs)) as connected:
        yield connected


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_resources_and_prompts_are_listed_read_and_filled_in_beside_remits_own(ours: Era, theirs: Era, tmp_path: Path) -> None:
    shelf = ScriptedShelf()
    async with reading(tmp_path, shelf, ours=ours, theirs=theirs) as connected:
        client = connected.client
        resources = {str(one.uri): one for one in (await bounded(client.list_resources())).resources}
        templates = [one.uri_template for one in (await bounded(client.list_resource_templates())).resource_templates]
        prompts = {one.name: one for one in (await bounded(client.list_prompts())).prompts}
        text = await bounded(client.read_resource(ONE))
        blob = await bounded(client.read_resource("remit://servers/play/note://2"))
        got = await bounded(client.get_prompt("play__greet", {"whom": "Ann"}))
        of_prompt = await bounded(client.complete(PromptReference(name="play__greet"), {"name": "whom", "value": "w"}, {"a": "b"}))
        of_template = await bounded(
            client.complete(ResourceTemplateReference(uri="remit://servers/play/note://{n}"), {"name": "n", "value": "x"})
        )
    assert set(resources) == {ONE, "remit://servers/play/note://2"}
    assert resources[ONE].description == "From the MCP server `play`, in its own words: A note."
    assert (resources[ONE].meta or {})["remit/server"] == "play"
    assert templates == ["remit://sessions/{id}", "remit://sessions/{id}/transcript", "remit://servers/play/note://{n}"]
    assert "explore" in prompts
    assert [(blank.name, blank.required) for blank in prompts["play__greet"].arguments or ()] == [("whom", True)]
    assert text.contents == [TextResourceContents(uri=ONE, mime_type="text/plain", text="one")]
    assert blob.contents == [BlobResourceContents(uri="remit://servers/play/note://2", blob=base64.b64encode(b"two").decode())]
    assert (text.meta or {})["remit/server"] == (got.meta or {})["remit/server"] == "play"
    assert [(message.role, message.content) for message in got.messages] == [
        ("user", TextContent(text="Greet Ann.")),
        ("assistant", EmbeddedResource(resource=TextResourceContents(uri=ONE, text="one"))),
    ]
    assert (of_prompt.completion.values, of_template.completion.values) == (["world"], [])
    assert shelf.asked == [
        ("read", "note://1"),
        ("read", "note://2"),
        ("get", ("greet", {"whom": "Ann"})),
        ("complete", ("greet", "w", {"a": "b"})),
        ("complete", ("note://{n}", "x", None)),
    ]


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_what_a_server_asks_before_it_gives_a_resource_or_a_prompt_is_asked_with_the_reading(
    ours: Era, theirs: Era, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"decision": {"type": "string"}}, "required": ["decision"]}
    shelf = ScriptedShelf(wants=ElicitRequestFormParams(message="Whose note?", requested_schema=schema))
    person = Person(accepts(decision="Ada"))
    async with reading(tmp_path, shelf, ours=ours, theirs=theirs, person=person) as connected:
        read = await bounded(connected.client.read_resource(ONE))
        got = await bounded(connected.client.get_prompt("play__greet", {"whom": "world"}))
    assert read.contents == [TextResourceContents(uri=ONE, mime_type="text/plain", text="one")]
    assert got.messages[0].content == TextContent(text="Greet world.")
    assert ["Whose note?" in form.message and "play" in form.message for form in person.forms] == [True, True]
    assert [(reply.action, reply.content) for reply in shelf.replies] == [("accept", {"decision": "Ada"})] * 2


@pytest.mark.parametrize("ours", ERAS)
async def test_what_is_not_there_is_told_as_each_era_has_it(ours: Era, tmp_path: Path) -> None:
    async with reading(tmp_path, ScriptedShelf(), ours=ours, theirs="2025-11-25") as connected:
        for uri in ("remit://servers/play/note://9", "remit://servers/nobody/note://1", "remit://servers/play/"):
            with pytest.raises(MCPError) as raised:
                await bounded(connected.client.read_resource(uri))
            assert raised.value.error.code == (INVALID_PARAMS if ours == "2026-07-28" else NOT_FOUND)
        with pytest.raises(MCPError, match="no agent is called"):
            await bounded(connected.client.get_prompt("play__sing"))


@pytest.mark.parametrize("ours", ERAS)
async def test_rules_speak_of_resources_by_their_uri_and_of_prompts_by_their_name(ours: Era, tmp_path: Path) -> None:
    rules = {
        "play__resources": {"note://1": "deny", "note://2": "ask"},
        "play__prompts": {"greet": "deny"},
    }
    shelf, person = ScriptedShelf(), Person(decides("allow_once"))
    async with reading(tmp_path, shelf, ours=ours, settings={**PLAY, "permission": rules}, person=person) as connected:
        with pytest.raises(MCPError, match="denied by rule"):
            await bounded(connected.client.read_resource(ONE))
        asked = await bounded(connected.client.read_resource("remit://servers/play/note://2"))
        with pytest.raises(MCPError, match="denied by rule"):
            await bounded(connected.client.get_prompt("play__greet", {"whom": "Ann"}))
        proposed = await bounded(connected.client.complete(PromptReference(name="play__greet"), {"name": "whom", "value": "w"}))
        audit = [(event.tool, event.action) for event in await connected.audit() if event.kind == "decision"]
    assert len(asked.contents) == 1
    (form,) = person.forms
    assert "note://2" in form.message
    assert "a resource of the MCP server `play`" in form.message
    assert proposed.completion.values == []
    assert shelf.asked == [("read", "note://2")]
    assert {tool for tool, _ in audit} >= {"play__resources", "play__prompts"}


@pytest.mark.parametrize(
    "other",
    [
        *("FILE:///no/x", "file:///%6eo/x", "file:///%256eo/x", "file:////no/x", "file:/no/x", "file://localhost/no/x", "file:///no%2Fx"),
        *("file:///open/../no/x", "file:///./no/x", "file:///open/%2e%2E/no/x", "file:///open/..%5Cno/x", "file:///open/..;a/no/x"),
    ],
)
async def test_what_a_rule_denies_is_not_read_by_another_spelling_nor_what_it_allows_left_by_one(other: str, tmp_path: Path) -> None:
    shelf = ScriptedShelf(texts={other: "no", "file:///open/my%20notes": "yes"})
    for place, rules in enumerate(({"file:///no/*": "deny"}, {"*": "deny", "file:///open/*": "allow"})):
        async with reading(tmp_path / str(place), shelf, settings={**PLAY, "permission": {"play__resources": rules}}) as connected:
            with pytest.raises(MCPError):
                await bounded(connected.client.read_resource(f"remit://servers/play/{other}"))
            await bounded(connected.client.read_resource("remit://servers/play/file:///open/my%20notes"))
    assert shelf.asked == 2 * [("read", "file:///open/my%20notes")]


async def test_a_rule_for_all_of_a_server_covers_them_and_no_tool_has_their_permission(tmp_path: Path) -> None:
    shelf = ScriptedShelf()
    async with reading(tmp_path, shelf, settings={**PLAY, "permission": {"play__*": "deny"}}) as connected:
        with pytest.raises(MCPError, match="denied by rule"):
            await bounded(connected.client.read_resource(ONE))
        called = await bounded(connected.call("play__resources", uri="note://1"))
    assert "there is no tool" in text_of(called)
    assert shelf.asked == []
    assert all(offered_name("play", kind) != f"play__{kind}" for kind in KINDS)


async def test_no_model_reads_them_and_a_teams_tools_bind_them_too(tmp_path: Path) -> None:
    shelf = ScriptedShelf()
    script = {"general": [calls(("play__resources", {"uri": "note://1"})), says("{{results[0].text}}")]}
    world = make_world(tmp_path, script=script, settings=PLAY)
    async with connect(world, NEAR, opener=opener({"play": Scripted(shelf=shelf)})) as connected:
        told_of = text_of(await bounded(connected.call("task", **errand("general"))))
        assert connected.parts is not None
        deployment = connected.parts.deployment
        offered = {
            tools: await bounded(shelves_for(deployment, _member(deployment.workspaces[0], tools), "play"))
            for tools in (("play__*",), ("play__resources",), ("play__say", "read"))
        }
    assert "has no tool `play__resources`" in told_of
    assert shelf.asked == []
    assert {tools: (len(one.resources), len(one.prompts), one.readable) for tools, (one,) in offered.items()} == {
        ("play__*",): (2, 1, True),
        ("play__resources",): (2, 0, True),
        ("play__say", "read"): (0, 0, False),
    }


def _member(workspace: str, tools: tuple[str, ...]) -> Caller:
    return Caller(principal=LOCAL, workspace=workspace, agent="build", membership=Membership(member=True, tools=tools))


async def test_two_servers_with_the_same_uris_and_names_stay_apart_and_one_that_fails_takes_nobodys_away(tmp_path: Path) -> None:
    shelf = ScriptedShelf(texts={"note://1": "mine", "remit://servers/other/note://1": "no", "remit://sessions/ses_a": "no"})
    settings = {"mcpServers": {**BOTH["mcpServers"], "dead": {"command": "unused"}}}
    servers = {"play": Scripted(shelf=shelf), "other": Scripted(shelf=ScriptedShelf())}

    def way(name: str, *rest: Any) -> Any:
        if name == "dead":
            raise OSError("gone")
        return opener(servers)(name, *rest)

    async with connect(make_world(tmp_path, settings=settings), NEAR, opener=way) as connected:
        listed = [str(one.uri) for one in (await bounded(connected.client.list_resources())).resources]
        mine = await bounded(connected.client.read_resource(ONE))
        others = await bounded(connected.client.read_resource("remit://servers/other/note://1"))
        prompts = {one.name for one in (await bounded(connected.client.list_prompts())).prompts}
    assert listed == [
        ONE,
        "remit://servers/play/remit://servers/other/note://1",
        "remit://servers/play/remit://sessions/ses_a",
        "remit://servers/other/note://1",
        "remit://servers/other/note://2",
    ]
    assert [content.text for one in (mine, others) for content in one.contents if isinstance(content, TextResourceContents)] == [
        "mine",
        "one",
    ]
    assert {"play__greet", "other__greet"} <= prompts


async def test_long_lists_bad_uris_and_large_contents_are_bounded_and_texts_hold_nothing_that_steers(tmp_path: Path) -> None:
    many = {f"note://{n}": "x" for n in range(MOST + 100)}
    bad = {"note://\u202e": "x", "note:\n//": "x", "y" * 3000: "x", "": "x"}
    shelf = ScriptedShelf(texts={**bad, "note://red": "\x1b[2Jred", "note://large": "x" * (LARGEST_BYTES + 1), **many}, page=MOST)
    shelf.prompts = {"a\u202eb": "x", "x" * 600: "x", "greet": "\x1b[2J{whom}"}
    async with reading(tmp_path, shelf) as connected:
        listed = [str(one.uri) for one in (await bounded(connected.client.list_resources())).resources]
        prompts = [one.name for one in (await bounded(connected.client.list_prompts())).prompts]
        red = await bounded(connected.client.read_resource("remit://servers/play/note://red"))
        with pytest.raises(MCPError, match="larger than"):
            await bounded(connected.client.read_resource("remit://servers/play/note://large"))
        got = await bounded(connected.client.get_prompt("play__greet", {"whom": "Ann"}))
    assert len(listed) == MOST - len(bad)
    assert all(uri.startswith("remit://servers/play/note://") for uri in listed)
    assert [name for name in prompts if name.startswith("play")] == ["play__greet"]
    assert red.contents == [TextResourceContents(uri="remit://servers/play/note://red", mime_type="text/plain", text="\ufffd[2Jred")]
    assert got.messages[0].content == TextContent(text="\ufffd[2JAnn")


async def test_what_was_offered_before_is_offered_again_while_its_server_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves_module, "KEPT_SECONDS", LONG)
    world = make_world(tmp_path, settings=PLAY)
    async with connect(world, NEAR, opener=opener({"play": Scripted(shelf=ScriptedShelf())})) as connected:
        before = (await bounded(connected.client.list_prompts())).prompts

    def dead(*_: Any) -> Any:
        raise OSError("gone")

    async with connect(world, NEAR, opener=dead) as connected:
        assert (await bounded(connected.client.list_prompts())).prompts == before
        with pytest.raises(MCPError, match="cannot be reached"):
            await bounded(connected.client.read_resource(ONE))


async def test_lists_wait_once_for_a_server_that_does_not_give_its_own(tmp_path: Path) -> None:
    servers, times = {name: Scripted(shelf=ScriptedShelf()) for name in ("play", "other")}, list[str]()

    async def never(*_: Any) -> Any:
        times.append("asked")
        await anyio.sleep_forever()

    shelf = servers["play"].shelf
    assert shelf is not None
    shelf.lists = never
    settings = {"mcpServers": {"play": {"command": "unused", "handshake_seconds": 0.5}, "other": {"command": "unused"}}}
    async with connect(make_world(tmp_path, settings=settings), NEAR, opener=opener(servers)) as connected:
        for _ in range(3):
            listed = await bounded(connected.client.list_resources())
            assert {str(each.uri).partition("/note")[0] for each in listed.resources} == {"remit://servers/other"}
    assert times == ["asked"]
