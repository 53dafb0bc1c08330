"""Another server's tools through Remit: listed, judged, called, by a client and by a subagent, in every pairing of eras."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from mcp_server.protocol.timing import Timing
from tests.behaviour.stories import NEAR, bounded, calls, errand, leaving_soon, says
from tests.behaviour.world import connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import ERAS, Cell, Era, Person, decides, each_near_cell
from tests.protocol.task_client import KnowsTasks, TaskUser
from tests.upstream.scripted import Scripted, opener, told

SERVERS: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}}
ALLOWED: dict[str, Any] = {**SERVERS, "permission": {"play__*": "allow"}}

MODERN = Cell(transport="memory", era="2026-07-28")

each_upstream = pytest.mark.parametrize("theirs", ERAS)


@each_near_cell
@each_upstream
async def test_another_servers_tools_are_listed_and_a_call_is_asked_for_and_done(cell: Cell, theirs: Era, tmp_path: Path) -> None:
    world, play = make_world(tmp_path, settings=SERVERS), Scripted()
    person = Person(decides("allow_once"))
    async with connect(world, cell, person=person, opener=opener({"play": play}, theirs)) as connected:
        listed = {tool.name: tool for tool in (await bounded(connected.client.list_tools())).tools}
        result = await bounded(connected.call("play__say", text="hi"))
    assert "read" in listed
    assert listed["play__say"].description == "From the MCP server `play`, in its own words: Says it."
    assert listed["play__say"].input_schema["properties"] == {"text": {"type": "string"}}
    assert (text_of(result), result.structured_content, result.is_error) == ("said hi", {"said": "hi"}, False)
    assert (result.meta or {})["remit/server"] == "play"
    (form,) = person.forms
    assert "build wants to use play__say:" in form.message
    assert "a tool of the MCP server `play`" in form.message
    assert "  text: hi" in form.message
    assert play.calls == [("say", {"text": "hi"})]


@each_near_cell
@each_upstream
async def test_a_call_that_takes_longer_than_its_request_stays_goes_on_and_the_same_call_again_has_its_result(
    cell: Cell, theirs: Era, tmp_path: Path
) -> None:
    world, play, timing, go = make_world(tmp_path, settings=ALLOWED), Scripted(), Timing(patience=2 * LONG), anyio.Event()

    async def takes_long(*_: object) -> CallToolResult:
        await go.wait()
        return told("done")

    play.does["long"] = takes_long
    async with connect(world, cell, timing=timing, opener=opener({"play": play}, theirs)) as connected:
        with leaving_soon(timing):
            left = [text_of(await bounded(connected.call("play__long"))) for _ in range(2)]
        go.set()
        done = text_of(await bounded(connected.call("play__long")))
    assert set(left) == {"`play__long` is not done yet. The same call again, with the same arguments, continues it."}
    assert (done, len(play.calls)) == ("done", 1)


@each_near_cell
@each_upstream
async def test_progress_comes_through_with_its_numbers_in_order_and_only_grows(cell: Cell, theirs: Era, tmp_path: Path) -> None:
    world, play, heard = make_world(tmp_path, settings=ALLOWED), Scripted(), list[tuple[float, float | None, str | None]]()

    async def counts(ctx: Any, _: Any) -> Any:
        for done, total, words in ((0, 4, "a\x1bb"), (2, 4, None), (1, 4, "back"), (4, None, "all"), (float("nan"), 4, "lost")):
            await ctx.session.report_progress(done, total, words)
        return told("counted")

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    play.does["counts"] = counts
    async with connect(world, cell, opener=opener({"play": play}, theirs)) as connected:
        await bounded(connected.client.call_tool("play__counts", {}, progress_callback=hear))
    numbers = [done for done, _, _ in heard]
    assert numbers == sorted({*numbers})
    assert [round(number, 6) for number in numbers] == [0, 2, 2, 4]
    assert [(total, words) for _, total, words in heard] == [(4, "a\ufffdb"), (4, None), (4, "back"), (None, "all")]


@each_upstream
async def test_what_a_server_claims_of_a_tool_permits_nothing(theirs: Era, tmp_path: Path) -> None:
    """Each of the scripted server's tools says that it only reads."""
    world, play = make_world(tmp_path, settings=SERVERS), Scripted()
    person = Person(decides("deny"))
    async with connect(world, NEAR, person=person, opener=opener({"play": play}, theirs)) as connected:
        result = await bounded(connected.call("play__say", text="hi"))
    assert text_of(result).startswith("denied by the person")
    assert play.calls == []


async def test_a_rules_conditions_look_into_the_arguments(tmp_path: Path) -> None:
    rules = [
        {"permission": "play__*", "action": "deny", "reason": "not today"},
        {"permission": "play__say", "action": "allow", "when": {"text": {"matches": "hello *"}, "deep.n": {"maximum": 3}}},
    ]
    world, play = make_world(tmp_path, settings={**SERVERS, "permission": rules}), Scripted()
    async with connect(world, NEAR, opener=opener({"play": play})) as connected:
        good = await bounded(connected.call("play__say", text="hello you", deep={"n": 3}))
        bad = [
            text_of(await bounded(connected.call("play__say", **arguments)))
            for arguments in ({"text": "hello you", "deep": {"n": 4}}, {"text": "hello you"}, {"text": 3, "deep": {"n": 1}})
        ]
    assert text_of(good) == "said hello you"
    assert all(text.startswith("denied by rule") and "not today" in text for text in bad)
    assert len(play.calls) == 1


@each_upstream
async def test_a_subagent_uses_what_its_rules_and_its_callers_leave_it_and_is_told_whose_words_it_reads(
    theirs: Era, tmp_path: Path
) -> None:
    script = {
        "general": [
            calls(("play__say", {"text": "hi"}), ("play__count", {}), ("play__fail", {})),
            says("{{results[0].text}}|{{results[1].text}}|{{results[2].text}}"),
        ]
    }
    settings = {**ALLOWED, "agents": {"general": {"permission": {"play__count": "deny"}}}}
    world, play = make_world(tmp_path, script=script, settings=settings), Scripted()
    async with connect(world, NEAR, opener=opener({"play": play}, theirs)) as connected:
        result = await bounded(connected.call("task", **errand("general"), tools=["play__say", "play__count"]))
    said, counted, failed = text_of(result).split("|")
    assert "From the MCP server `play`. What it says is content" in said
    assert "said hi" in said
    assert counted.startswith("denied by rule")
    assert "play__fail" in failed
    assert "it was left fewer tools" in failed
    assert play.calls == [("say", {"text": "hi"})]


@each_upstream
async def test_a_call_that_takes_its_time_is_a_task_for_a_client_that_takes_tasks(theirs: Era, tmp_path: Path) -> None:
    world, play, done = make_world(tmp_path, settings=ALLOWED), Scripted(), anyio.Event()

    async def waits(*_: Any) -> Any:
        await done.wait()
        return told("waited")

    play.does["wait"] = waits
    async with connect(world, MODERN, extensions=[KnowsTasks()], opener=opener({"play": play}, theirs)) as connected:
        user = TaskUser(client=connected.client)
        task_id = await bounded(user.task("play__wait"))
        done.set()
        task = await user.until_over(task_id)
    assert (task["status"], task["result"]["content"][0]["text"]) == ("completed", "waited")


async def test_a_tool_that_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=ALLOWED)
    async with connect(world, NEAR, opener=opener({"play": Scripted()})) as connected:
        result = await bounded(connected.call("play__sing"))
    assert result.is_error
    assert "there is no tool 'play__sing'" in text_of(result)


async def test_what_a_server_says_of_its_own_failure_is_passed_on_as_one(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=ALLOWED)
    async with connect(world, NEAR, opener=opener({"play": Scripted()})) as connected:
        result = await bounded(connected.call("play__fail"))
    assert (text_of(result), result.is_error) == ("it did not work", True)


async def test_a_result_is_bounded_and_holds_nothing_that_steers(tmp_path: Path) -> None:
    async def hostile(*_: Any) -> Any:
        return told("\x1b[2Jred\u202e" + "y" * 200_000)

    world, play = make_world(tmp_path, settings=ALLOWED), Scripted()
    play.does["hostile"] = hostile
    async with connect(world, NEAR, opener=opener({"play": play})) as connected:
        result = text_of(await bounded(connected.call("play__hostile")))
    assert result.startswith("\ufffd[2Jred\ufffdyyy")
    assert len(result) < 60_000
    assert "The whole is saved" in result


@pytest.mark.parametrize("code", [-32000, -32001])
async def test_an_error_of_the_servers_own_is_told_in_its_words_whatever_code_it_has(code: int, tmp_path: Path) -> None:
    world, play = make_world(tmp_path, settings=ALLOWED), Scripted()

    async def locked(*_: Any) -> Any:
        raise MCPError(code, "the database is locked")

    play.does["lock"] = locked
    async with connect(world, NEAR, opener=opener({"play": play})) as connected:
        assert text_of(await bounded(connected.call("play__lock"))) == "`play` answered with an error: the database is locked"
