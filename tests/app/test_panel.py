"""Prompts in a panel of the client's own: who is given one, what it shows, and how it answers."""

import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextResourceContents

from mcp_server.gateway.panel import MOST_CARDS
from mcp_server.policy.values import Reach
from mcp_server.principal import LOCAL
from mcp_server.protocol.apps import ADDRESS, META, NO_DOMAINS
from mcp_server.records import Choice, PromptState
from tests.app.conftest import using
from tests.app.panel_user import ANSWER, MIME, OPEN, PanelUser, RendersApps, RendersOthers, choices_in, elements_in, meta_of, words_of
from tests.behaviour.stories import (
    LONG,
    NEAR,
    PATH,
    Settable,
    answer_all,
    bounded,
    calls,
    content_of,
    each_era,
    errand,
    says,
    state_of,
    team_world,
    until,
    until_told,
    write,
)
from tests.behaviour.world import Connected, connect, make_world, text_of
from tests.protocol.connect import CELLS, Cell, Person, decides, stares

THREE = (calls(write("a.txt")), calls(write("b.txt")), calls(write("c.txt")), says("writer: done"))

SHARED = Cell(transport="http", era="2026-07-28")
"""Where all callers are one."""

each_own_cell = pytest.mark.parametrize("cell", [cell for cell in CELLS if cell != SHARED], ids=str)

LINE = "cat README.md && rm -rf build > log.txt"


async def attended(user: PanelUser, choice: Choice, *, result: CallToolResult) -> CallToolResult:
    """A person at the panel gives this answer to whatever comes, while the model polls, until the task has ended."""
    task_id = content_of(result)["task_id"]

    async def answer() -> None:
        while True:
            for prompt in tuple(user.secrets):
                assert not (await user.answer(prompt, choice)).is_error
            await user.look(wait=1)

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        while state_of(result) in ("running", "waiting"):
            result = await user.call("task_status", task_id=task_id, wait_seconds=10)
        group.cancel_scope.cancel()
    return result


async def meanwhile(other: Callable[[], Coroutine[Any, Any, None]], call: Awaitable[CallToolResult]) -> CallToolResult:
    """The result of a call, while something else goes on."""
    results: list[CallToolResult] = []
    async with anyio.create_task_group() as group:
        group.start_soon(other)
        results.append(await bounded(call))
    return results[0]


async def test_an_answer_in_the_panel_takes_an_open_form_away(tmp_path: Path) -> None:
    """A client that shows both: the form stands first, and the app has asked for what waits."""
    world = team_world(tmp_path)
    person = Person(stares)
    async with connect(world, NEAR, person=person, extensions=[RendersApps()]) as connected:
        user = PanelUser(connected=connected)

        async def answers_in_the_panel() -> None:
            with anyio.fail_after(LONG):
                await person.sees_a_form()
                await user.look()
                (prompt,) = user.secrets
                assert not (await user.answer(prompt, Choice.ALLOW_ONCE)).is_error

        result = await meanwhile(answers_in_the_panel, connected.call("task", **errand("lead")))
        (prompt,) = await connected.store.prompts(principal=LOCAL.key)
    assert person.withdrawn == 1
    assert state_of(result) == "completed"
    assert prompt.answer is not None
    assert prompt.answer.channel == "panel"


# ---- who is given one -----------------------------------------------------------------------------


@each_own_cell
async def test_a_client_that_shows_no_forms_has_three_prompts_answered_in_its_panel(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, *THREE)
    async with using(world, cell) as user:
        result = await attended(user, Choice.ALLOW_ONCE, result=await user.call("task", **errand("lead")))
        answers = [one.answer for one in await user.connected.store.prompts(principal=LOCAL.key) if one.answer is not None]
    assert state_of(result) == "completed"
    assert [(world.workspace / name).read_text() for name in ("a.txt", "b.txt", "c.txt")] == ["hello"] * 3
    assert [(answer.channel, answer.by) for answer in answers] == [("panel", LOCAL.key)] * 3


@each_era
async def test_a_request_that_declares_no_apps_meets_nothing_of_them(cell: Cell, tmp_path: Path) -> None:
    async with connect(team_world(tmp_path, settings={"limits": {"task_wait": 0.5}}), cell) as connected:
        await meets_nothing(connected)


@each_era
async def test_documents_of_another_kind_are_not_enough(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={"limits": {"task_wait": 0.5}})
    async with connect(world, cell, extensions=[RendersOthers()]) as connected:
        await meets_nothing(connected)


async def test_where_all_callers_are_one_nobody_is_given_the_panel_of_anothers_prompts(tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={"limits": {"task_wait": 0.5}})
    async with connect(world, SHARED, extensions=[RendersApps()]) as connected:
        await meets_nothing(connected)


async def meets_nothing(connected: Connected) -> None:
    tools = (await connected.client.list_tools()).tools
    assert [tool.name for tool in tools if tool.meta or tool.name.startswith("approvals")] == []
    for name in (OPEN, ANSWER):
        refused = await connected.call(name, panel="one")
        assert refused.is_error
        assert text_of(refused).startswith(f"there is no tool '{name}'")
        assert "approvals_" not in text_of(refused).partition(";")[2]
    waiting = await until_told(connected, "task", **errand("lead"))
    assert state_of(waiting) == "waiting"
    assert META not in (waiting.meta or {})
    with pytest.raises(MCPError):
        await connected.client.read_resource(ADDRESS)


@each_era
async def test_tools_that_may_wait_bring_the_panel_and_its_own_are_hidden_from_models(cell: Cell, tmp_path: Path) -> None:
    async with using(team_world(tmp_path), cell) as user:
        tools = {tool.name: (tool.meta or {}).get("ui") for tool in (await user.connected.client.list_tools()).tools}
    assert tools[OPEN] == tools[ANSWER] == {"resourceUri": ADDRESS, "visibility": ["app"]}
    assert {name for name in ("task", "task_status", "bash", "edit", "read") if tools[name] != {"resourceUri": ADDRESS}} == set()
    assert [tools[name] for name in ("session_info", "task_cancel")] == [None] * 2


@each_era
async def test_the_document_loads_nothing_and_runs_only_what_is_in_it(cell: Cell, tmp_path: Path) -> None:
    async with using(team_world(tmp_path), cell) as user:
        (page,) = (await user.connected.client.read_resource(ADDRESS)).contents
    assert isinstance(page, TextResourceContents)
    assert (page.mime_type, page.meta) == (MIME, {"ui": {"csp": NO_DOMAINS, "prefersBorder": True}})
    assert "default-src 'none'" in page.text
    assert re.findall(r"https?://|\bsrc=|@import|url\(|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", page.text) == []


async def test_a_call_of_the_clients_own_waits_for_the_panel_and_goes_on_when_it_is_made_again(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"limits": {"task_wait": 20}})
    async with using(world) as user:
        waiting = await user.call(*write()[:1], **write()[1])
        ((prompt, card),) = user.cards.items()
        assert "in Remit's panel" not in text_of(waiting)
        assert "the person can answer there" in text_of(waiting)
        assert "build wants to use write" in words_of(card)
        await user.answer(prompt, Choice.ALLOW_ONCE)
        done = await user.call(*write()[:1], **write()[1])
    assert not done.is_error
    assert (world.workspace / "out.txt").read_text() == "hello"


async def test_a_call_stays_while_a_panel_is_in_sight_and_is_answered_without_a_second_one(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    async with using(world) as user:
        await user.look()

        async def answer() -> None:
            while not user.secrets:
                await user.look(wait=5)
            await user.answer(next(iter(user.secrets)), Choice.ALLOW_ONCE)

        done = await meanwhile(answer, user.call(*write()[:1], **write()[1]))
    assert not done.is_error
    assert META not in (done.meta or {})


async def test_a_client_that_shows_forms_too_is_asked_by_form_and_its_panel_shows_the_same(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    seen: list[Any] = []

    async with connect(world, NEAR, person=(person := Person(decides("allow_once"))), extensions=[RendersApps()]) as connected:
        user = PanelUser(connected=connected)

        async def look() -> None:
            while not seen:
                await user.look(wait=5)
                seen.extend(user.cards.values())

        act = person.acts[0]

        async def later(params: Any) -> Any:
            await until(lambda: _is(seen))
            return await act(params)

        person.acts = [later]
        result = await meanwhile(look, user.call("task", **errand("lead")))
    assert state_of(result) == "completed"
    assert len(person.forms) == 1
    assert f"{PATH} wants to use write" in words_of(seen)


async def _is(things: list[Any]) -> bool:
    return bool(things)


# ---- what it shows --------------------------------------------------------------------------------


async def test_a_card_shows_the_call_the_path_the_reason_and_the_rules_that_each_answer_makes(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as user:
        await user.call("task", **errand("lead"))
        ((prompt, card),) = user.cards.items()
        (record,) = await user.connected.open_prompts()
    words = words_of(card)
    assert prompt == record.id
    assert f"{PATH} wants to use write" in words
    for part in ("out.txt", "hello", "Asked because", "edit out.txt", "Allow for this subagent", "What it changes", "+hello"):
        assert part in words, part
    assert choices_in(card) == ["allow_once", "allow_session", "allow_tree", "deny", "deny_session"]
    assert record.deadline is not None, "its time runs from when it is shown"


async def test_a_line_of_shell_is_shown_in_its_parts(tmp_path: Path) -> None:
    world = team_world(tmp_path, calls(("bash", {"command": LINE, "description": "tidy"})), says("done"))
    async with using(world) as user:
        await user.call("task", **errand("lead"))
        (card,) = user.cards.values()
    words = words_of(card)
    assert "Its parts" in words
    assert "rm -rf build" in words
    assert "log.txt" in words


async def test_what_hides_or_turns_is_written_out_in_the_panel_too(tmp_path: Path) -> None:
    hostile = "<b>x</b>\u202etxt.exe\u200b\x1b[2J"
    async with using(team_world(tmp_path, calls(write("out.txt", hostile)), says("done"))) as user:
        await user.call("task", **errand("lead"))
        (card,) = user.cards.values()
    marks = "".join(words_of(one) for one in elements_in(card) if one[1].get("class") == "escape")
    assert [escape for escape in ("\\u202e", "\\u200b", "\\u001b") if escape not in marks] == []
    assert "\u202e" not in json.dumps(card, ensure_ascii=False)
    assert "<b>x</b>" in words_of(card), "markup is text"


async def test_an_older_panel_is_told_that_a_newer_one_shows_what_waits(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as user:
        await user.call("task", **errand("lead"))
        newer = PanelUser(connected=user.connected, name="two")
        assert not (await user.look()).get("newer")
        await newer.look()
        assert (await user.look())["newer"]
        assert len(newer.cards) == 1


async def test_of_many_prompts_the_oldest_are_whole_and_the_others_are_counted(tmp_path: Path) -> None:
    many = calls(*(write(f"{number}.txt") for number in range(MOST_CARDS + 3)))
    async with using(team_world(tmp_path, many, says("done"))) as user:
        await user.call("task", **errand("lead"))
        await user.connected.open_prompts(MOST_CARDS + 3)
        await user.look()
        assert (len(user.seen), len(user.cards)) == (MOST_CARDS + 3, MOST_CARDS)
        await user.answer(next(iter(user.cards)), Choice.DENY)
        await user.look()
        assert (len(user.seen), len(user.cards)) == (MOST_CARDS + 2, MOST_CARDS)


async def test_after_a_restart_the_panel_shows_what_a_task_from_before_waits_for(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as user:
        task_id = content_of(await user.call("task", **errand("lead")))["task_id"]
    async with using(world) as user:
        await user.look()
        assert user.cards == {}, "another connection's tree is not this one's"
        user.name = "two"
        result = await attended(user, Choice.ALLOW_ONCE, result=await user.call("task_status", task_id=task_id, wait_seconds=0))
    assert state_of(result) == "completed"


# ---- how it answers -------------------------------------------------------------------------------


async def test_an_answer_for_the_session_makes_the_rules_that_were_shown(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as user:
        await attended(user, Choice.ALLOW_SESSION, result=await user.call("task", **errand("lead")))
        (ruling,) = await user.connected.store.rulings(principal=LOCAL.key)
    assert (ruling.reach, str(ruling.ruling.rule), ruling.channel) == (Reach.SESSION, "edit out.txt allow", "panel")


async def test_a_denial_in_the_panel_ends_the_call_and_says_who_denied_it(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with using(world) as user:
        result = await user.call("task", **errand("lead"))
        (prompt,) = user.cards
        await user.answer(prompt, Choice.DENY, words=["not that file"])
        ended = await attended(user, Choice.DENY, result=result)
    assert [(call["tool"], call["ending"]) for call in content_of(ended)["refused"]] == [("write", "denied by the person")]
    assert "not that file" in text_of(ended)
    assert not (world.workspace / "out.txt").exists()


async def test_a_question_is_answered_in_the_panel_with_a_choice_and_in_own_words(tmp_path: Path) -> None:
    question = {"question": "Which?", "header": "Colour", "options": [{"label": "red", "description": "x"}, {"label": "blue"}]}
    asking = calls(("question", {"questions": [question, {"question": "Why?"}]}))
    async with using(team_world(tmp_path, asking, says("writer: {{results[0].text}}"))) as user:
        result = await user.call("task", **errand("lead"))
        (prompt,) = user.cards
        short = await user.answer(prompt, answer_0=["1"])
        assert short.is_error, "not every question is answered"
        await user.look(renew=[prompt])
        assert not (await user.answer(prompt, answer_0=["1"], own_1=["because"])).is_error
        ended = await attended(user, Choice.DENY, result=result)
    assert "Which? → blue" in text_of(ended)
    assert "Why? → because" in text_of(ended)


async def over_in(user: PanelUser) -> Any:
    """What is told to be over, once something is."""
    while not (told := (await user.look(wait=5)).get("over")):
        pass
    return told


async def test_what_was_answered_elsewhere_is_told_with_the_place(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as user:
        await user.call("task", **errand("lead"))
        await answer_all(user.connected.store, await user.connected.open_prompts(), Choice.DENY)
        (over,) = await over_in(user)
    assert "Answered in a terminal" in words_of(over["card"])
    assert choices_in(over["card"]) == []


async def test_what_nobody_answered_in_time_is_told(tmp_path: Path) -> None:
    clock = Settable()
    async with using(team_world(tmp_path), clock=clock) as user:
        await user.call("task", **errand("lead"))
        clock.ahead = 1000.0
        (over,) = await over_in(user)
    assert "Nobody answered in time" in words_of(over["card"])


async def test_the_terminal_sees_what_the_panel_answered(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as user:
        await user.call("task", **errand("lead"))
        (prompt,) = user.cards
        await user.answer(prompt, Choice.DENY)
        assert await user.connected.store.prompts(state=PromptState.OPEN) == ()
        audit = [event for event in await user.connected.audit() if event.ref == prompt]
        assert meta_of(await user.connected.call("session_info")) == {}
    assert [event.outcome for event in audit] == ["opened", "answered: deny"]
