"""The client's own model gives a run's turns, in both protocol versions; and who lends none is told what to do."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    TextContent,
)

from mcp_server.errors import ConfigError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import ModelTurn, RunState
from tests.behaviour.lending import MODEL, MODERN, OwnModel, Reply, always, content, lent, own_world, read, results, turn, waits
from tests.behaviour.stories import (
    NEAR,
    agent,
    bounded,
    content_of,
    each_era,
    errand,
    refused_in,
    send,
    state_of,
    until,
    until_ended,
    write,
)
from tests.behaviour.world import Connected, text_of
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, decides, each_cell, each_near_cell
from tests.protocol.task_client import KnowsTasks, TaskUser, asked


def plain(text: str) -> CreateMessageResult:
    """A turn of a client that knows no tools."""
    return CreateMessageResult(role="assistant", content=TextContent(text=text), model=MODEL, stop_reason="endTurn")


async def turns_of(connected: Connected, task_id: str) -> list[ModelTurn]:
    return [one.entry for one in await connected.store.transcript(SessionId(task_id)) if isinstance(one.entry, ModelTurn)]


# ---- turns ----------------------------------------------------------------------------------------


@each_cell
async def test_the_clients_own_model_answers(cell: Cell, tmp_path: Path) -> None:
    model = OwnModel(always(turn("Done by you.")))
    async with lent(own_world(tmp_path), cell, model) as connected:
        report = content_of(await bounded(connected.call("task", **errand("reader", "look around"))))
        (said,) = await turns_of(connected, report["task_id"])
        audit = await connected.audit()
    assert (report["state"], report["result"]) == ("completed", "Done by you.")
    (asked,) = model.asked
    assert [(message.role, content(message)[0].text) for message in asked.messages] == [("user", "look around")]
    assert "You work as the agent `reader`" in (asked.system_prompt or "")
    assert "read" in [tool.name for tool in asked.tools or ()]
    assert said.model == f"client:{MODEL}"
    assert [event.outcome for event in audit if "answered" in event.outcome] == [f"client:{MODEL} answered"]


@each_cell
async def test_tools_are_called_through_the_gate_over_more_turns_than_a_client_takes_rounds(cell: Cell, tmp_path: Path) -> None:
    model = OwnModel(read(12))
    async with lent(own_world(tmp_path), cell, model) as connected:
        first = await bounded(connected.call("task", **errand("reader")))
        task_id = content_of(first)["task_id"]
        last = await bounded(until_ended(connected, task_id)) if state_of(first) == "running" else first
        audit = await connected.audit()
    assert state_of(first) == ("completed" if cell.era == "2025-11-25" else "running")
    assert (state_of(last), content_of(last)["usage"]["turns"]) == ("completed", 13)
    assert content_of(last)["result"].startswith("after 12: ")
    assert "A sample." in content_of(last)["result"]
    assert len(model.asked) == 13, "no turn is asked for twice"
    assert sum(event.kind == "decision" and event.tool == "read" for event in audit) == 12


@each_era
async def test_a_call_that_leaves_before_the_round_limit_says_how_to_go_on(cell: Cell, tmp_path: Path) -> None:
    async with lent(own_world(tmp_path), cell, OwnModel(read(12))) as connected:
        first = await bounded(connected.call("task", **errand("reader")))
    if cell.era == "2026-07-28":
        assert state_of(first) == "running"
        assert "It goes on only while such a call is open" in text_of(first)
        assert content_of(first)["model_turns"] == ["agent reader: not asked yet"]


@each_near_cell
async def test_a_child_of_a_child_asks_the_same_client_and_a_form_rides_along(cell: Cell, tmp_path: Path) -> None:
    async def speak(params: CreateMessageRequestParams) -> Reply:
        leads, given = "the agent `lead`" in (params.system_prompt or ""), results(params)
        if given:
            return turn(f"{'lead' if leads else 'writer'}: {given[-1]}")
        return turn("", send("writer"), send("mute")) if leads else turn("", write()) if params.tools else turn("I only talk.")

    person, model = Person(decides("allow_once")), OwnModel(speak)
    world = own_world(tmp_path)
    async with lent(world, cell, model, person=person) as connected:
        first = await bounded(connected.call("task", **errand("lead")))
        task_id = content_of(first)["task_id"]
        last = await bounded(until_ended(connected, task_id)) if state_of(first) == "running" else first
    assert (state_of(last), refused_in(last)) == ("completed", [])
    assert (world.workspace / "out.txt").read_text() == "hello"
    assert [form.message.splitlines()[0] for form in person.forms] == ["build › lead › writer wants to use write:"]
    assert len(model.asked) == 5


@each_near_cell
async def test_a_denied_call_is_told_to_the_clients_model_and_listed(cell: Cell, tmp_path: Path) -> None:
    async def speak(params: CreateMessageRequestParams) -> Reply:
        return turn(results(params)[-1]) if results(params) else turn("", write())

    world = own_world(tmp_path, settings={"permission": {"edit": "deny"}})
    async with lent(world, cell, OwnModel(speak)) as connected:
        result = await bounded(connected.call("task", **errand("writer")))
    assert refused_in(result) == [("build › writer", "write", "denied by rule")]
    assert "denied by rule" in content_of(result)["result"]


async def test_arguments_that_do_not_fit_are_told_to_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    async def speak(params: CreateMessageRequestParams) -> Reply:
        return turn("I see.") if results(params) else turn("", ("read", {"path": 1}), ("no_such_tool", {}))

    model = OwnModel(speak)
    async with lent(own_world(tmp_path), NEAR, model) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert content_of(result)["result"] == "I see."
    told = results(model.asked[-1])
    assert "filePath" in told[0]
    assert "no_such_tool" in told[1]


async def test_what_the_client_tells_of_tokens_is_counted_and_an_answer_cut_off_says_so(tmp_path: Path) -> None:
    reply = turn("Half a sen", stop="maxTokens", _meta={"usage": {"inputTokens": 120, "outputTokens": 7}})
    async with lent(own_world(tmp_path), NEAR, OwnModel(always(reply))) as connected:
        report = content_of(await bounded(connected.call("task", **errand("reader"))))
    usage = report["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cost_usd"], usage["unpriced"]) == (120, 7, None, 1)
    assert report["result"].splitlines() == ["Half a sen", "[cut off: the limit on the length of one answer was reached]"]


async def test_an_agents_hint_and_temperature_go_to_the_client(tmp_path: Path) -> None:
    model = OwnModel(always(turn("Done.")))
    tuned = agent("model: 'client:small'", "temperature: 0.5", "options: {max_tokens: 500}")
    async with lent(own_world(tmp_path, agents={"tuned": tuned}), NEAR, model) as connected:
        await bounded(connected.call("task", **errand("tuned")))
    (asked,) = model.asked
    assert asked.model_preferences is not None
    assert [hint.name for hint in asked.model_preferences.hints or ()] == ["small"]
    assert (asked.temperature, asked.max_tokens) == (0.5, 500)


@each_era
async def test_a_call_with_no_time_to_wait_still_carries_the_turn_that_is_open(cell: Cell, tmp_path: Path) -> None:
    world = own_world(tmp_path, settings={"limits": {"task_wait": 0}})
    async with lent(world, cell, OwnModel(read(2))) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
        with anyio.fail_after(LONG):
            while state_of(result) == "running":
                result = await connected.call("task_status", task_id=content_of(result)["task_id"], wait_seconds=1)
    assert state_of(result) == "completed"


@each_era
async def test_a_long_transcript_is_shortened_by_the_clients_model_too(cell: Cell, tmp_path: Path) -> None:
    async def speak(params: CreateMessageRequestParams) -> Reply:
        if params.tools is None:
            return turn("Condensed: the file was read.")
        told = json.dumps([message.model_dump(mode="json") for message in params.messages])
        return turn("All read.") if "Condensed:" in told else turn("", ("read", {"filePath": "long.txt", "limit": len(model.asked)}))

    model = OwnModel(speak)
    world = own_world(tmp_path, settings={"limits": {"context_tokens": 3000}})
    (world.workspace / "long.txt").write_text(("word " * 400 + "\n") * 9)
    async with lent(world, cell, model) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert content_of(result)["result"] == "All read."
    assert sum(asked.tools is None for asked in model.asked) == 1


@each_era
async def test_a_second_task_of_a_session_is_told_with_what_came_before(cell: Cell, tmp_path: Path) -> None:
    model = OwnModel(read(1))
    async with lent(own_world(tmp_path), cell, model) as connected:
        first = await bounded(connected.call("task", **errand("reader", "first")))
        model.speak = always(turn("Again."))
        second = await bounded(connected.call("task", **errand("reader", "second", task_id=content_of(first)["task_id"])))
    assert content_of(second)["result"] == "Again."
    assert [message.role for message in model.asked[-1].messages] == ["user", "assistant", "user", "assistant", "user"]


async def test_a_client_that_holds_a_task_is_asked_by_it_at_each_look_for_the_same_turn(tmp_path: Path) -> None:
    model = OwnModel(always(turn("Not asked by a call.")))
    async with lent(own_world(tmp_path), MODERN, model, extensions=[KnowsTasks()]) as connected:
        user = TaskUser(client=connected.client)
        task_id = await user.task("task", **errand("reader"))
        first = asked(await user.until(task_id, "input_required"))
        for _ in range(5):
            assert asked(await user.get(task_id)).keys() == first.keys()
        ((key, request),) = first.items()
        assert request["method"] == "sampling/createMessage"
        assert request["params"]["messages"] == [{"role": "user", "content": {"type": "text", "text": "do it"}}]
        await user.update(task_id, {key: sent(turn("", ("read", {"filePath": "README.md"})))})
        ((key, request),) = (await user.until_another(task_id, first)).items()
        assert "A sample." in json.dumps(request["params"]["messages"][-1])
        await user.update(task_id, {key: sent(turn("Read."))})
        task = await user.until_over(task_id)
    assert task["result"]["structuredContent"]["result"] == "Read."
    assert model.asked == []


def sent(result: CreateMessageResultWithTools) -> dict[str, Any]:
    """As a client writes it down."""
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


# ---- clients that lend nothing, or less --------------------------------------------------------------


@each_cell
async def test_it_is_off_until_it_is_turned_on(cell: Cell, tmp_path: Path) -> None:
    model = OwnModel(always(turn("Never asked.")))
    async with lent(own_world(tmp_path, settings={"sampling": False}), cell, model) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert (state_of(result), model.asked) == ("error", [])
    assert content_of(result)["error"] == (
        "agent `reader` is to use the client's own model (`client`), and that is off: put `sampling: true` into the user settings, "
        "or give the agent a provider's model, `agents: {reader: {model: provider:name}}`"
    )


async def test_a_workspace_cannot_turn_it_on(tmp_path: Path) -> None:
    world = own_world(tmp_path, settings={"sampling": False})
    (world.workspace / ".remit").mkdir()
    (world.workspace / ".remit" / "settings.yaml").write_text(json.dumps({"sampling": True}))
    with pytest.raises(ConfigError, match="sampling"):
        async with lent(world, NEAR):
            pass


@each_cell
async def test_a_client_that_lends_no_model_is_told_what_to_do(cell: Cell, tmp_path: Path) -> None:
    async with lent(own_world(tmp_path), cell) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert (state_of(result), result.is_error) == ("error", True)
    assert content_of(result)["error"] == (
        "agent `reader` is to use the client's own model, and this client lends none: take one that does (`sampling`), "
        "or a provider's model, `agents: {reader: {model: provider:name}}` in the user settings"
    )


@each_near_cell
async def test_a_model_without_tools_serves_agents_without_tools_alone(cell: Cell, tmp_path: Path) -> None:
    model = OwnModel(always(plain("Only words.")), tools=False)
    async with lent(own_world(tmp_path), cell, model) as connected:
        with_tools = await bounded(connected.call("task", **errand("reader")))
        without = await bounded(connected.call("task", **errand("mute")))
    assert "agent `reader` has tools, and this client's own model cannot use any" in content_of(with_tools)["error"]
    assert (state_of(without), content_of(without)["result"]) == ("completed", "Only words.")
    assert [asked.tools for asked in model.asked] == [None]


@each_near_cell
async def test_a_background_run_waits_in_words_until_a_client_that_can_polls_it(cell: Cell, tmp_path: Path) -> None:
    world = own_world(tmp_path)
    async with lent(world, cell) as without:
        started = content_of(await bounded(without.call("task", **errand("reader", background=True))))
        await until(lambda: waits(without, started["task_id"]))
        polled = await bounded(without.call("task_status", task_id=started["task_id"], wait_seconds=0.5))
        run = await without.store.latest_run(SessionId(started["task_id"]))
    assert state_of(polled) == "waiting"
    assert "this client lends none" in text_of(polled)
    assert run is not None
    assert run.state is RunState.WAITING
    assert run.reason == "waits for a turn of the client's own model, which a call of `task` or `task_status` carries to it"
    model = OwnModel(read(1))
    async with lent(world, cell, model) as able:
        last = await bounded(until_ended(able, started["task_id"]))
    assert state_of(last) == "completed"
    assert len(model.asked) == 2


async def test_a_provider_answers_in_the_place_of_a_client_that_lends_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(json.dumps({"reader": [{"text": "By the fallback."}]}))
    world = own_world(tmp_path / "world", settings={"model_fallback": f"scripted:{script}"})
    async with lent(world, NEAR) as connected:
        report = content_of(await bounded(connected.call("task", **errand("reader"))))
        (said,) = await turns_of(connected, report["task_id"])
    assert report["result"] == "By the fallback."
    assert "this client lends none" in said.instead
