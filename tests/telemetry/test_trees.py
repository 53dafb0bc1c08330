"""What is told of a whole tree, with the real client: every span in its place, and the ids those of the audit."""

import time
from pathlib import Path
from typing import Any

import pytest

from mcp_server.records import Choice, PromptState, RunState
from mcp_server.sessions.answers import close_with
from mcp_server.telemetry import names
from tests.behaviour.stories import (
    NEAR,
    answer_all,
    bounded,
    calls,
    content_of,
    each_era,
    errand,
    says,
    state_of,
    team_world,
    typed,
    until,
    until_cancelled,
    until_ended,
    write,
)
from tests.behaviour.world import connect, make_world
from tests.protocol.connect import Cell, Person, decides, each_near_cell
from tests.telemetry.listening import Listener, Told


@each_near_cell
async def test_a_tree_of_three_sessions_is_one_trace_below_the_sdks_own_span_with_the_ids_of_the_audit(cell: Cell, tmp_path: Path) -> None:
    ear = Listener()
    async with connect(team_world(tmp_path), cell, person=Person(decides("allow_once")), telemetry=ear.recorder) as connected:
        with ear.traced():
            result = await bounded(connected.call("task", **errand("lead")))
        audit = await connected.audit()
        (prompt,) = await connected.store.prompts(state=PromptState.ANSWERED)
        runs = {event.session_path: event.ref for event in audit if event.kind == "run"}
    assert state_of(result) == "completed"
    request = ear.named("tools/call task")[0]
    of_root, of_lead = (told for told in ear.named("execute_tool task"))
    assert of_root.parent == request.id
    leads, writers = ear.named("invoke_agent lead"), ear.named("invoke_agent writer")
    assert {told.parent for told in leads} == {of_root.id}
    assert {told.parent for told in writers} == {of_lead.id}
    assert of_lead.parent in {told.id for told in leads}
    assert [told[names.RUN_STATE] for told in writers][-1] == "completed"
    assert {told[names.RUN] for told in leads} == {runs["build", "lead"]}
    assert {told[names.RUN] for told in writers} == {runs["build", "lead", "writer"]}
    assert writers[0][names.SESSION_PATH] == ("build", "lead", "writer")
    (asked,) = ear.named("prompt write")
    assert (asked[names.PROMPT_ID], asked[names.PROMPT_STATE], asked[names.PROMPT_CHOICE]) == (prompt.id, "answered", "allow_once")
    assert asked[names.CALL] == prompt.calls[0]
    (done,) = ear.named("execute_tool write")
    assert {asked.parent, done.parent} <= {told.id for told in writers}
    assert (done[names.CALL], done[names.ENDING]) == (prompt.calls[0], "done")
    decisions = [event for event in audit if event.kind == "decision"]
    told_of = {told.place: told for told in ear.ours() if told.name.startswith("decide ")}
    assert len(decisions) > 3
    assert {event.trace for event in decisions} == set(told_of)
    for event in decisions:
        assert event.action is not None
        assert _as_told(told_of[event.trace]) == (event.session_id, event.ref, event.tool, event.action.word)
    assert [told[names.ACTION] for told in ear.named("decide write")] == ["ask", "allow"]
    turns = [told for told in ear.named("chat scripted") if told[names.AGENT] in ("lead", "writer")]
    assert len(turns) == 4
    assert {told.parent for told in turns} <= {told.id for told in (*leads, *writers)}


def _as_told(told: Told) -> tuple[str, str, str, str]:
    return (told[names.CONVERSATION], told[names.CALL], told[names.TOOL], told[names.ACTION])


@each_era
async def test_a_child_in_the_background_stays_in_the_trace_of_the_request_that_sent_it(cell: Cell, tmp_path: Path) -> None:
    ear = Listener()
    world = make_world(tmp_path, script={"general": [{"text": "done", "await": "ready"}]})
    async with connect(world, cell, telemetry=ear.recorder) as connected:
        with ear.traced():
            started = await bounded(connected.call("task", **errand("general", background=True)))
        (world.places.config / "script.yaml.ready").touch()
        await bounded(until_ended(connected, content_of(started)["task_id"]))
        (sent,) = ear.named("execute_tool task")

        async def told() -> bool:
            return bool(ear.named("invoke_agent general"))

        await until(told)
    (run,) = ear.named("invoke_agent general")
    assert (run.parent, run[names.BACKGROUND], run[names.RUN_STATE]) == (sent.id, True, "completed")


async def test_a_run_that_goes_on_in_another_server_keeps_its_trace(tmp_path: Path) -> None:
    first, second = Listener(), Listener()
    world = team_world(tmp_path)
    async with connect(world, NEAR, telemetry=first.recorder) as connected:
        with first.traced():
            started = await bounded(connected.call("task", **errand("lead", background=True)))
        await connected.open_prompts()

        async def rests() -> bool:
            (prompt,) = await connected.store.prompts(state=PromptState.OPEN)
            run = await connected.store.latest_run(prompt.session_id)
            return run is not None and run.state is RunState.WAITING

        await until(rests)
    second.trace_id = first.trace_id
    before = len(first.ours())
    async with connect(world, NEAR, telemetry=second.recorder) as connected:
        (prompt,) = await connected.open_prompts()
        await answer_all(connected.store, [prompt])
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    assert state_of(result) == "completed"
    assert before > 0
    (sent,) = [told for told in first.named("execute_tool task") if told[names.AGENT] == "build"]
    assert {told.parent for told in second.named("invoke_agent lead")} == {sent.id}
    assert [told[names.RUN_STATE] for told in second.named("invoke_agent writer")] == ["waiting", "completed"]
    (asked,) = second.named("prompt write")
    assert (asked[names.PROMPT_CHANNEL], asked[names.PROMPT_STATE]) == ("approvals", "answered")


async def test_what_a_client_says_of_its_trace_is_a_parent_and_no_more(tmp_path: Path) -> None:
    """Whatever stands there, the same call gets the same decision."""
    ear = Listener()
    seen: list[tuple[Any, ...]] = []
    async with connect(team_world(tmp_path), NEAR, telemetry=ear.recorder) as connected:
        for said in ("00-" + "0" * 32 + "-" + "1" * 16 + "-01", "nonsense", "x" * 5_000, "00-" + "a" * 32 + "-" + "b" * 16 + "-00"):
            result = await connected.client.call_tool("read", {"filePath": "README.md"}, meta={"traceparent": said})
            assert not result.is_error
        seen = [(event.action, event.step) for event in await connected.audit() if event.kind == "decision"]
    assert len(seen) == 4
    assert len(set(seen)) == 1


SECRETS = ("hunter2-argument", "hunter2-result", "hunter2-answer", "hunter2-task", "hunter2-path")


async def test_no_argument_result_or_text_stands_in_any_attribute(tmp_path: Path) -> None:
    ear = Listener()
    script = {
        "general": [
            calls(write("hunter2-path.txt", "hunter2-argument")),
            calls(("read", {"filePath": "secret.txt"}), ("read", {"filePath": "hunter2-path-that-is-not-there"})),
            calls(write("hunter2-path-2.txt", "hunter2-argument")),
            says("hunter2-result"),
        ]
    }
    world = make_world(tmp_path, script=script, files={"secret.txt": "hunter2-result"})
    async with connect(world, NEAR, telemetry=ear.recorder) as connected:
        with ear.traced():
            started = await bounded(connected.call("task", **errand("general", "hunter2-task", background=True)))
        for choice in (Choice.ALLOW_ONCE, Choice.DENY):
            (prompt,) = await connected.open_prompts()
            assert await close_with(connected.store, prompt, typed(choice, words="hunter2-answer"))

            async def closed(prompt_id: str = prompt.id) -> bool:
                return all(one.id != prompt_id for one in await connected.store.prompts(state=PromptState.OPEN))

            await until(closed)
        result = await bounded(until_ended(connected, content_of(started)["task_id"]))
    assert "hunter2-result" in str(content_of(result))
    everything = [(told.name, told.attributes, told.span.status.description, told.span.events) for told in ear.spans()]
    assert [told[names.ACTION] for told in ear.named("decide write")] == ["ask", "allow", "ask"]
    assert len(ear.named("execute_tool read")) == 2
    for secret in (*SECRETS, str(tmp_path)):
        assert secret not in repr(everything)
        assert secret not in repr(ear.points())


async def test_the_numbers_are_those_of_the_run(tmp_path: Path) -> None:
    ear = Listener()
    async with connect(team_world(tmp_path), NEAR, person=Person(decides("allow_once")), telemetry=ear.recorder) as connected:
        await bounded(connected.call("task", **errand("lead")))
        count = len([event for event in await connected.audit() if event.kind == "decision"])
        points = ear.points()
    assert sum(value for _, value in points[names.DECISIONS]) == count
    assert ({names.ACTION: "ask", names.STEP: "mode", names.TOOL: "write"}, 1) in points[names.DECISIONS]
    assert {told[names.RUN_OUTCOME] for told, _ in points[names.RUN_SECONDS]} == {"completed"}
    assert sorted(told[names.AGENT] for told, _ in points[names.RUN_SECONDS]) == ["lead", "writer"]
    assert [told for told, _ in points[names.PROMPT_SECONDS]] == [
        {names.PROMPT_KIND: "approval", names.PROMPT_STATE: "answered", names.PROMPT_CHANNEL: "form"}
    ]
    assert points[names.PROMPTS_OPEN] == [({}, 0)]
    assert {told[names.TOOL] for told, _ in points[names.TOOL_SECONDS]} == {"task", "write"}
    assert {told[names.COUNTED] for told, _ in points[names.USED]} == {"input", "output"}


@pytest.mark.parametrize("state", [PromptState.EXPIRED, PromptState.WITHDRAWN])
async def test_a_prompt_that_nobody_answers_is_told_with_how_it_ended(state: PromptState, tmp_path: Path) -> None:
    ear, ahead = Listener(), [0.0]
    world = team_world(tmp_path)
    async with connect(world, NEAR, telemetry=ear.recorder, clock=lambda: time.time() + ahead[0]) as connected:
        with ear.traced():
            started = await bounded(connected.call("task", **errand("lead", background=True)))
        (prompt,) = await connected.open_prompts()
        if state is PromptState.EXPIRED:
            ahead[0] = 8 * 86_400.0
        else:
            await until_cancelled(connected, content_of(started)["task_id"])

        async def told() -> bool:
            return bool(ear.named("prompt write"))

        await until(told)
    (asked,) = ear.named("prompt write")
    assert (asked[names.PROMPT_ID], asked[names.PROMPT_STATE]) == (prompt.id, state.value)
