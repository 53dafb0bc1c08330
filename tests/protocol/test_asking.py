"""Every end of a prompt, in every cell: a depth-2 child asks, and a scripted person behind the real client does what it does."""

from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from tests.bounds import LONG
from tests.protocol.cells import playing
from tests.protocol.connect import (
    Act,
    Cell,
    Person,
    accepts,
    after,
    closes,
    connected,
    decides,
    declines,
    each_cell,
    each_near_cell,
    stares,
    text_of,
)
from tests.protocol.scripted_front import scripted_front
from tests.protocol.scripted_server import scripted_server
from tests.protocol.scripts import RULE, tools

HUMAN = 5.0
"""Seconds between two looks at the server's clock: long enough for a person to have read the form."""


async def play(client: Client, scene: str) -> CallToolResult:
    with anyio.fail_after(LONG):
        return await client.call_tool("task", {"scene": scene})


def whole(text: str, *refused: str) -> dict[str, Any]:
    """What a completed scripted task comes back as, but for its id."""
    return {"text": text, "error": False, "state": "completed", "refused": list(refused)}


def seen(result: CallToolResult) -> dict[str, Any]:
    structured: dict[str, Any] = result.structured_content or {}
    return {
        "text": text_of(result.content),
        "error": result.is_error,
        "state": structured.get("state"),
        "refused": structured.get("refused"),
    }


@each_cell
async def test_an_answered_prompt_lets_the_call_go_on(cell: Cell) -> None:
    person = Person(decides("allow_session", "mind the branch"))
    async with playing(cell, person) as client:
        result = await play(client, "ask")
    channel = "form" if cell.era == "2025-11-25" else "input_required"
    assert seen(result) == whole(f"allow_session mind the branch via {channel}")
    (form,) = person.forms
    assert "build › general › explore wants to use bash:" in form.message
    assert "  command: git push" in form.message
    assert "agent build: bash * ask (commands change things)" in form.message
    titles = {option["const"]: option["title"] for option in form.requested_schema["properties"]["decision"]["oneOf"]}
    assert titles == {
        "allow_once": "Allow once",
        "allow_session": f"Allow for this subagent: `{RULE}`",
        "allow_tree": f"Allow for it and its subagents: `{RULE}`",
        "deny": "Deny",
    }
    assert form.requested_schema["required"] == ["decision"]


@each_cell
async def test_a_denial_is_the_persons(cell: Cell) -> None:
    async with playing(cell, Person(decides("deny"))) as client:
        assert seen(await play(client, "ask")) == whole("denied by the person", "denied by the person")


@each_cell
async def test_a_decline_that_a_person_had_time_for_is_a_denial(cell: Cell) -> None:
    async with playing(cell, Person(declines), stride=HUMAN) as client:
        assert seen(await play(client, "ask")) == whole("denied by the person", "denied by the person")


@each_cell
async def test_a_decline_at_once_is_nobody_could_be_asked(cell: Cell) -> None:
    text = "nobody could be asked: the client declined by itself, before anybody can have read the form"
    async with playing(cell, Person(declines)) as client:
        assert seen(await play(client, "ask")) == whole(text, text)


@each_near_cell
@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (accepts(), "the client accepted the form without a decision in it, which is not consent"),
        (accepts(words="yes please"), "the client accepted the form without a decision in it, which is not consent"),
        (decides("allow_everything"), "the client answered with a decision that the form did not offer"),
        (decides("deny_session"), "the client answered with a decision that the form did not offer"),
    ],
    ids=["bare accept", "accept with words alone", "nonsense", "not offered"],
)
async def test_what_no_person_can_have_meant_is_nobody_could_be_asked(cell: Cell, act: Act, reason: str) -> None:
    text = f"nobody could be asked: {reason}"
    async with playing(cell, Person(act)) as client:
        assert seen(await play(client, "ask")) == whole(text, text)


@each_cell
async def test_an_expired_prompt_is_nobody_answered_and_a_late_answer_changes_nothing(cell: Cell) -> None:
    # In the older era the form is taken away; in the newer the answer comes after the end.
    person = Person()
    async with playing(cell, person) as client:
        late = stares if cell.era == "2025-11-25" else decides("allow_once")
        person.acts = [after(lambda: client.call_tool("close_prompts", {"expired": True}), late)]
        assert seen(await play(client, "ask")) == whole("nobody answered in time", "nobody answered in time")
    assert len(person.forms) == 1
    assert person.withdrawn == (1 if cell.era == "2025-11-25" else 0)


@each_near_cell
async def test_a_prompt_answered_elsewhere_is_withdrawn_and_the_call_goes_on(cell: Cell) -> None:
    person = Person()
    async with playing(cell, person) as client:
        late = stares if cell.era == "2025-11-25" else decides("deny")
        person.acts = [after(lambda: client.call_tool("close_prompts", {"expired": False}), late)]
        assert seen(await play(client, "ask")) == whole("allow_once from a terminal via approvals")
    assert person.withdrawn == (1 if cell.era == "2025-11-25" else 0)


@each_near_cell
async def test_a_call_that_ends_while_anothers_form_is_shown_gives_its_result(cell: Cell) -> None:
    person = Person()
    async with playing(cell, person) as client:
        late = stares if cell.era == "2025-11-25" else decides("allow_once")
        person.acts = [after(lambda: client.call_tool("read", {"filePath": "a"}), late)]
        assert text_of((await play(client, "outrun")).content) == "done without it"


@each_cell
async def test_a_client_without_forms_is_told_who_is_waited_for_and_how_to_go_on(cell: Cell) -> None:
    async with playing(cell, None, patience=0.2) as client:
        result = await play(client, "ask")
    assert not result.is_error
    assert (result.structured_content or {})["state"] == "waiting"
    assert "answer with `remit approvals`" in text_of(result.content)


@each_cell
async def test_a_prompt_orphaned_by_a_cancelled_call_is_shown_again_by_the_next(cell: Cell) -> None:
    person = Person(stares, decides("allow_once"))
    async with playing(cell, person) as client:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "task", {"scene": "ask"})
                await person.sees_a_form()
                group.cancel_scope.cancel()
        result = await play(client, "ask")
    assert len(person.forms) == 2
    assert person.forms[0].message == person.forms[1].message
    assert "allow_once" in text_of(result.content)
    assert (result.structured_content or {})["id"] == "call_1", "the same call goes on; none was started twice"


@each_near_cell
async def test_a_background_prompt_rides_on_task_status_alone(cell: Cell) -> None:
    person = Person(decides("allow_once"))
    async with playing(cell, person) as client:
        started = await play(client, "background")
        assert (started.structured_content or {})["state"] == "running"
        await client.call_tool("read", {"filePath": "a.txt"})
        assert person.forms == [], "an unrelated tool asks nothing"
        with anyio.fail_after(LONG):
            result = await client.call_tool("task_status", {"task_id": "call_1"})
    assert len(person.forms) == 1
    assert "allow_once" in text_of(result.content)


@each_cell
async def test_three_prompts_at_once_are_each_answered_for_themselves(cell: Cell) -> None:
    person = Person(decides("allow_once"), decides("deny"), decides("allow_tree"))
    async with playing(cell, person) as client:
        result = await play(client, "three")
    assert sorted(form.message.splitlines()[1].strip() for form in person.forms) == [f"command: git push {n}" for n in range(3)]
    told = sorted(line.split(" via ")[0] for line in text_of(result.content).splitlines())
    assert told == ["allow_once", "allow_tree", "denied by the person"]


@each_near_cell
async def test_three_calls_at_once_wait_for_one_another_on_the_wire_and_all_end(cell: Cell) -> None:
    person = Person(decides("allow_once"))
    texts: list[str] = []

    async def call(name: str, arguments: dict[str, Any]) -> None:
        texts.append(text_of((await client.call_tool(name, arguments)).content))

    async with playing(cell, person) as client:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(call, "bash", dict[str, Any]())
                group.start_soon(call, "task", {"scene": "ask"})
                group.start_soon(call, "task", {"scene": "three"})
    assert len(texts) == 3
    assert len(person.forms) == 5
    assert all("allow_once" in text for text in texts)


@each_near_cell
async def test_a_form_closed_without_a_choice_leaves_the_prompt_open(cell: Cell) -> None:
    person = Person(closes, decides("allow_once"))
    async with playing(cell, person) as client:
        first = await play(client, "ask")
        assert not first.is_error
        assert (first.structured_content or {})["state"] == "waiting"
        second = await play(client, "ask")
    assert "allow_once" in text_of(second.content)
    assert len(person.forms) == 2


@each_cell
async def test_questions_are_answered_in_the_persons_words(cell: Cell) -> None:
    answer = accepts(answer_1="blue", answer_1_own="a dark one", answer_2=["a", "b"], answer_3="because")
    person = Person(answer)
    async with playing(cell, person) as client:
        result = await play(client, "question")
    assert text_of(result.content).startswith('answered [["blue", "a dark one"], ["a", "b"], ["because"]] via')


@each_near_cell
async def test_a_call_that_asks_without_end_leaves_before_the_clients_own_limit(cell: Cell) -> None:
    person = Person(decides("allow_once"))
    async with playing(cell, person) as client:
        first = await play(client, "often")
        if cell.era == "2025-11-25":
            assert seen(first)["state"] == "completed"
            assert len(person.forms) == 12
            return
        assert (first.structured_content or {})["state"] == "waiting"
        assert len(person.forms) == 8
        second = await play(client, "often")
    assert seen(second)["state"] == "completed"
    assert len(person.forms) == 12


@each_near_cell
async def test_a_call_taken_back_and_made_again_at_once_is_the_same_call(cell: Cell) -> None:
    person = Person(stares, decides("allow_once"))
    async with scripted_front(tools()) as front:
        front.unwinding = 200
        async with connected(cell, server=lambda: scripted_server(front), command_line=(), person=person) as client:
            with anyio.fail_after(LONG):
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "task", {"scene": "ask"})
                    await person.sees_a_form()
                    group.cancel_scope.cancel()
                result = await play(client, "ask")
        assert list(front.calls) == ["call_1"], "a wait that takes long to unwind does not keep the call"
    assert "allow_once" in text_of(result.content)
