"""What a suspended call carries from round to round, and what becomes of it after a restart or in wrong hands."""

from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp_types import ElicitRequest, ElicitResult, InputRequiredResult, InputResponses, ListRootsResult

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.asking_rounds import RoundState, read_state
from mcp_server.protocol.server import build_server
from mcp_server.records import PromptId
from tests.bounds import LONG
from tests.protocol.connect import Person, client_of, stares, text_of
from tests.protocol.scripted_front import ScriptedFront, scripted_front
from tests.protocol.scripted_server import CALLER, KEY, scripted_server
from tests.protocol.scripts import tools

ERA = "2026-07-28"
ALLOW = ElicitResult(action="accept", content={"decision": "allow_once"})


def modern(front: ScriptedFront) -> Client:
    return client_of(scripted_server(front), ERA, Person(stares))


async def call(client: Client, scene: str, responses: InputResponses | None = None, state: str | None = None) -> Any:
    with anyio.fail_after(LONG):
        return await client.session.call_tool(
            "task", {"scene": scene}, input_responses=responses, request_state=state, allow_input_required=True
        )


async def test_one_round_holds_every_open_prompt_of_the_tree() -> None:
    async with scripted_front(tools()) as front, modern(front) as client:
        first = await call(client, "three")
        assert isinstance(first, InputRequiredResult)
        assert set(first.input_requests or {}) == set(front.prompts)
        assert all(isinstance(request, ElicitRequest) for request in (first.input_requests or {}).values())
        assert front.calls_attached() == 0, "the request has left"


async def test_what_was_not_answered_is_asked_again() -> None:
    async with scripted_front(tools()) as front, modern(front) as client:
        first = await call(client, "three")
        keys = list(first.input_requests)
        second = await call(client, "three", {keys[1]: ALLOW}, first.request_state)
        assert isinstance(second, InputRequiredResult)
        assert set(second.input_requests or {}) == {keys[0], keys[2]}
        last = await call(client, "three", {keys[0]: ALLOW, keys[2]: ALLOW}, second.request_state)
    assert text_of(last.content).count("allow_once") == 3
    assert len(front.calls) == 1


async def test_a_retry_after_a_restart_finds_its_call_and_starts_none() -> None:
    async with scripted_front(tools()) as front:
        async with modern(front) as client:
            first = await call(client, "ask")
        async with modern(front) as client:
            last = await call(client, "ask", {next(iter(first.input_requests)): ALLOW}, first.request_state)
    assert "allow_once" in text_of(last.content)
    assert len(front.calls) == 1


async def test_an_answer_to_what_was_not_asked_counts_for_nothing() -> None:
    async with scripted_front(tools()) as front, modern(front) as client:
        without_state = await call(client, "ask", {"prm_1": ALLOW})
        assert isinstance(without_state, InputRequiredResult)
        foreign = await call(client, "ask", {"prm_2": ALLOW}, without_state.request_state)
        assert isinstance(foreign, InputRequiredResult)
        assert list(front.prompts) == ["prm_1"]


async def test_a_response_that_is_no_form_closes_as_nobody_could_be_asked() -> None:
    async with scripted_front(tools()) as front, modern(front) as client:
        first = await call(client, "ask")
        last = await call(client, "ask", {"prm_1": ListRootsResult(roots=[])}, first.request_state)
    assert "nobody could be asked" in text_of(last.content)


async def test_a_state_sealed_with_another_key_or_for_other_arguments_is_refused() -> None:
    async with scripted_front(tools()) as front:
        other = build_server(front, caller_of=lambda _: CALLER, keys=[b"o" * 32], version="0")
        async with modern(front) as client, client_of(other, ERA, Person(stares)) as stranger:
            first = await call(client, "ask")
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await call(stranger, "ask", {"prm_1": ALLOW}, first.request_state)
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await call(client, "three", {"prm_1": ALLOW}, first.request_state)
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await call(client, "ask", {"prm_1": ALLOW}, "made up")
        assert list(front.prompts) == ["prm_1"]


async def test_a_key_that_is_rotated_out_still_opens_what_it_sealed() -> None:
    async with scripted_front(tools()) as front:
        rotated = build_server(front, caller_of=lambda _: CALLER, keys=[b"n" * 32, KEY], version="0")
        async with modern(front) as client, client_of(rotated, ERA, Person(stares)) as later:
            first = await call(client, "ask")
            last = await call(later, "ask", {"prm_1": ALLOW}, first.request_state)
    assert "allow_once" in text_of(last.content)


async def test_a_state_that_names_no_call_of_this_caller_gets_the_one_answer_for_handles() -> None:
    async with scripted_front(tools()) as front, scripted_front(tools()) as empty, modern(front) as client, modern(empty) as elsewhere:
        first = await call(client, "ask")
        last = await call(elsewhere, "ask", {"prm_1": ALLOW}, first.request_state)
    assert last.is_error
    assert text_of(last.content) == str(NoSuchHandle("call"))


def test_a_state_of_another_version_names_nothing() -> None:
    assert read_state(None) is None
    assert read_state('{"call":"c","round":2,"put_at":1.5,"asked":["p"],"put_off":[]}') == RoundState(
        call="c", round=2, put_at=1.5, asked=(PromptId("p"),)
    )
    with pytest.raises(NoSuchHandle):
        read_state('{"v":1}')
