"""The client's own model gives a run's turns, in both protocol versions; and where it cannot, that is told in words."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ErrorData,
    ImageContent,
    SamplingMessage,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)

from mcp_server.errors import ConfigError
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import FINAL, ModelTurn, RunState
from tests.behaviour.lending import OwnModel, Reply, lent
from tests.behaviour.stories import NEAR, TEAM, agent, bounded, content_of, each_era, errand, refused_in, send, state_of, until, write
from tests.behaviour.world import LOOK, Connected, World, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, decides, each_cell, each_near_cell
from tests.protocol.task_client import KnowsTasks, TaskUser, asked

MODEL = "the-client's-own"
MODERN = Cell(transport="memory", era="2026-07-28")

Call = tuple[str, Mapping[str, Any]]


def own_world(folder: Path, *, settings: Mapping[str, Any] | None = None, agents: Mapping[str, str] | None = None) -> World:
    """Every agent's model is the client's own."""
    said = {"model": "client", "sampling": True, **(settings or {})}
    reader = agent("permission:", "  read: allow")
    mute = agent("tools: []")
    return make_world(folder, settings=said, agents={**TEAM, "reader": reader, "mute": mute, **(agents or {})})


def turn(text: str = "", *calls: Call, stop: str | None = None, **more: Any) -> CreateMessageResultWithTools:
    """A turn of the client's model."""
    said: list[Any] = [TextContent(text=text)] if text else []
    said += [ToolUseContent(id=f"use{place}", name=tool, input=dict(arguments)) for place, (tool, arguments) in enumerate(calls)]
    meant = stop or ("toolUse" if calls else "endTurn")
    return CreateMessageResultWithTools(role="assistant", content=said, model=MODEL, stop_reason=meant, **more)


def plain(text: str) -> CreateMessageResult:
    """A turn of a client that knows no tools."""
    return CreateMessageResult(role="assistant", content=TextContent(text=text), model=MODEL, stop_reason="endTurn")


def always(reply: Reply) -> Callable[[CreateMessageRequestParams], Awaitable[Reply]]:
    async def speak(_: CreateMessageRequestParams) -> Reply:
        return reply

    return speak


def read(count: int) -> Callable[[CreateMessageRequestParams], Awaitable[Reply]]:
    """Reads another line so many times, one a turn, and then says what it saw last."""

    async def speak(params: CreateMessageRequestParams) -> Reply:
        done = sum(message.role == "assistant" for message in params.messages)
        if done < count:
            return turn(f"step {done}", ("read", {"filePath": "README.md", "limit": done + 1}))
        return turn(f"after {done}: {results(params)[-1]}")

    return speak


def results(params: CreateMessageRequestParams) -> list[str]:
    """The texts of all results that the model was given."""
    blocks = [block for message in params.messages for block in content(message) if isinstance(block, ToolResultContent)]
    return ["\n".join(one.text for one in block.content if isinstance(one, TextContent)) for block in blocks]


def content(message: SamplingMessage) -> list[Any]:
    return message.content_as_list


async def until_ended(connected: Connected, task_id: str) -> CallToolResult:
    """Poll as a model would."""
    while True:
        result = await connected.call("task_status", task_id=task_id, wait_seconds=15)
        if result.is_error or state_of(result) not in ("running", "waiting"):
            return result


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
        await until(lambda: _waits(without, started["task_id"]))
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


# ---- what goes wrong -----------------------------------------------------------------------------------

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
BAD: tuple[tuple[str, Reply, str], ...] = (
    ("role", turn("Mine.").model_copy(update={"role": "user"}), "the client's answer is not its model's: it has the role `user`"),
    ("image", turn().model_copy(update={"content": [IMAGE]}), "the client's answer holds what no model's turn may: image"),
    ("empty", turn(), "the client's answer is empty"),
    ("no tool", turn("wait", stop="toolUse"), "the client's answer says that its model wants a tool, and names none"),
    ("refusal", turn("no", stop="refusal"), "the client's own model refused to answer"),
)


@pytest.mark.parametrize(("reply", "words"), [pytest.param(reply, words, id=name) for name, reply, words in BAD])
@each_era
async def test_an_answer_that_is_no_turn_fails_the_run_in_words(cell: Cell, reply: Reply, words: str, tmp_path: Path) -> None:
    async with lent(own_world(tmp_path), cell, OwnModel(always(reply))) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert (state_of(result), content_of(result)["error"]) == ("error", words)


async def test_a_client_that_refuses_fails_the_run_in_its_own_words(tmp_path: Path) -> None:
    model = OwnModel(always(ErrorData(code=-1, message="The person said no")))
    async with lent(own_world(tmp_path), NEAR, model) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert (state_of(result), len(model.asked)) == ("error", 1)
    assert content_of(result)["error"] == "the client did not ask its model: The person said no"


async def test_a_client_that_refuses_where_it_cannot_be_heard_is_asked_three_times_and_no_more(tmp_path: Path) -> None:
    model, world = OwnModel(always(ErrorData(code=-1, message="The person said no"))), own_world(tmp_path)
    async with lent(world, MODERN) as connected:  # a client that lends one may be asked by the very call that starts the run
        started = content_of(await bounded(connected.call("task", **errand("reader", background=True))))
    async with lent(world, MODERN, model) as connected:
        for _ in range(3):
            with pytest.raises(MCPError, match="The person said no"):
                await bounded(connected.call("task_status", task_id=started["task_id"], wait_seconds=10))
        result = await bounded(connected.call("task_status", task_id=started["task_id"], wait_seconds=10))
    assert (state_of(result), len(model.asked)) == ("error", 3)
    assert content_of(result)["error"] == "the client was asked 3 times for one turn of its own model, and gave no answer"


async def test_a_provider_answers_in_the_place_of_a_client_that_lends_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(json.dumps({"reader": [{"text": "By the fallback."}]}))
    world = own_world(tmp_path / "world", settings={"model_fallback": f"scripted:{script}"})
    async with lent(world, NEAR) as connected:
        report = content_of(await bounded(connected.call("task", **errand("reader"))))
        (said,) = await turns_of(connected, report["task_id"])
    assert report["result"] == "By the fallback."
    assert "this client lends none" in said.instead


async def test_a_turn_that_no_client_gives_in_time_ends_the_run(tmp_path: Path) -> None:
    async with lent(own_world(tmp_path), NEAR, limits=lambda limits: replace(limits, unasked_seconds=0.3)) as connected:
        started = content_of(await bounded(connected.call("task", **errand("reader", background=True))))
        await until(lambda: ended(connected, started["task_id"]))
        result = await bounded(connected.call("task_status", task_id=started["task_id"]))
    assert state_of(result) == "error"
    assert "the client's own model did not answer within 0.3 s" in content_of(result)["error"]


async def ended(connected: Connected, task_id: str) -> bool:
    run = await connected.store.latest_run(SessionId(task_id))
    return run is not None and run.state in FINAL


@each_near_cell
async def test_a_cancelled_run_takes_its_question_back(cell: Cell, tmp_path: Path) -> None:
    async def never(_: CreateMessageRequestParams) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    model = OwnModel(never)
    async with lent(own_world(tmp_path), cell, model) as connected:
        async with anyio.create_task_group() as group:
            # On a busy machine the question may already ride on this call, which then stays until it is taken back.
            group.start_soon(lambda: connected.call("task", **errand("reader", background=True)))
            with anyio.fail_after(LONG):
                task_id = await _child(connected)
            group.start_soon(lambda: connected.call("task_status", task_id=task_id, wait_seconds=15))
            with anyio.fail_after(LONG):
                await model.is_asked()
            assert state_of(await bounded(connected.call("task_cancel", task_id=task_id))) == "cancelled"
            if cell.era == "2025-11-25":
                await until(lambda: _taken_back(model))
            group.cancel_scope.cancel()
        await until(lambda: _asks_nothing(connected))


async def _child(connected: Connected) -> str:
    while True:
        for session in await connected.store.sessions(LOCAL.key):
            if session.agent == "reader":
                return session.id
        await anyio.sleep(LOOK)


async def _taken_back(model: OwnModel) -> bool:
    """Every question that was put: where it first rode on one call and then on another, that is two."""
    return model.withdrawn == len(model.asked)


@each_near_cell
async def test_a_request_that_is_given_up_leaves_its_turn_to_the_next(cell: Cell, tmp_path: Path) -> None:
    async def never(_: CreateMessageRequestParams) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    model = OwnModel(never)
    async with lent(own_world(tmp_path), cell, model) as connected:
        task_id = ""
        async with anyio.create_task_group() as group:
            # As above: the question may ride on either.
            group.start_soon(lambda: connected.call("task", **errand("reader", background=True)))
            with anyio.fail_after(LONG):
                task_id = await _child(connected)
            group.start_soon(lambda: connected.call("task_status", task_id=task_id, wait_seconds=15))
            with anyio.fail_after(LONG):
                await model.is_asked()
            group.cancel_scope.cancel()
        model.speak = always(turn("At the second time."))
        result = await bounded(until_ended(connected, task_id))
    assert (state_of(result), content_of(result)["result"]) == ("completed", "At the second time.")


@each_era
async def test_after_a_restart_the_same_turn_is_asked_for_again(cell: Cell, tmp_path: Path) -> None:
    world = own_world(tmp_path)
    async with lent(world, cell) as before:
        started = content_of(await bounded(before.call("task", **errand("reader", "do it", background=True))))
        await until(lambda: _waits(before, started["task_id"]))
    model = OwnModel(always(turn("After the restart.")))
    async with lent(world, cell, model) as again:
        result = await bounded(until_ended(again, started["task_id"]))
    assert content_of(result)["result"] == "After the restart."
    assert [content(message)[0].text for message in model.asked[0].messages] == ["do it"]


async def test_another_server_for_the_workspace_carries_the_turns_just_as_well(tmp_path: Path) -> None:
    world, other = own_world(tmp_path), OwnModel(read(3))
    async with (
        lent(world, NEAR, limits=lambda limits: replace(limits, lease_seconds=0.6)) as begun,
        lent(world, MODERN, other, limits=lambda limits: replace(limits, lease_seconds=0.6)) as elsewhere,
    ):
        started = content_of(await bounded(begun.call("task", **errand("reader", background=True))))
        await until(lambda: _asks(elsewhere))
        result = await bounded(until_ended(elsewhere, started["task_id"]))
        await until(lambda: _asks_nothing(begun))
    assert (state_of(result), content_of(result)["usage"]["turns"]) == ("completed", 4)
    assert len(other.asked) == 4


async def _asks(connected: Connected) -> bool:
    assert connected.parts is not None
    return bool(connected.parts.deployment.asks.asks)


async def _asks_nothing(connected: Connected) -> bool:
    return not await _asks(connected)


async def _waits(connected: Connected, task_id: str) -> bool:
    run = await connected.store.latest_run(SessionId(task_id))
    return run is not None and run.state is RunState.WAITING
