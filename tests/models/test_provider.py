import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic_ai.messages import ModelResponse, ThinkingPart, ToolCallPart, ToolReturnPart
from starlette.responses import HTMLResponse

from mcp_server.errors import ModelError, ModelNotConfigured, ProviderFailed
from mcp_server.records import Ending, ModelTurn
from mcp_server.sessions.models.answers import turn_of
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.base import MALFORMED, TurnRequest
from mcp_server.sessions.models.endpoints import ProviderConfig, ProviderLimits
from mcp_server.sessions.models.history import messages_of
from mcp_server.sessions.models.names import ProviderModel
from mcp_server.sessions.models.provider import ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend
from tests.bounds import LONG
from tests.models.openai_server import OpenAIServer, calls_answer, error_answer, openai_server, text_answer
from tests.models.transcripts import call, ended, request, said, stored, task

KEY = "sk-test-0123456789abcdef"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Pauses:
    """Pauses that take no time, and are remembered."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def backends(base_url: str, *, pauses: Pauses | None = None, environment: Mapping[str, str] | None = None, **limits: Any) -> Backends:
    config = ProviderConfig(name="lab", base_url=base_url, api_key_env="LAB_KEY")
    provider = ProviderBackend(
        providers={"lab": config},
        environment={"LAB_KEY": KEY} if environment is None else environment,
        limits=ProviderLimits(**limits),
        pause=pauses or Pauses(),
    )
    return Backends(scripted=ScriptedBackend(base=Path()), provider=provider)


async def ask(server: OpenAIServer, asked: TurnRequest, **more: Any) -> ModelTurn:
    with anyio.fail_after(LONG):
        return await backends(server.base_url, **more).turn(asked)


def first(**more: Any) -> TurnRequest:
    return request(stored([task()]), model="lab:small", **more)


async def test_a_turn_sends_system_task_and_tools_and_gives_back_text_and_usage() -> None:
    async with openai_server(text_answer("Nothing here.")) as server:
        turn = await ask(server, first(temperature=0.25, options={"max_tokens": 99}))

    assert (turn.text, turn.calls, turn.model) == ("Nothing here.", (), "lab:small")
    assert (turn.usage.turns, turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.tool_calls) == (1, 11, 7, 0)
    body = server.bodies[0]
    assert body["model"] == "small"
    assert body["messages"] == [{"role": "system", "content": "You explore."}, {"role": "user", "content": "Look around."}]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["read"]
    assert body["tools"][0]["function"]["parameters"]["required"] == ["filePath"]
    assert body["temperature"] == 0.25
    assert body["max_completion_tokens"] == 99
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_conversation_of_two_turns_carries_calls_and_their_results_in_order() -> None:
    answers = (
        calls_answer(("a1", "read", '{"filePath": "a.md"}'), ("b2", "read", '{"filePath": "b.md"}'), text="Both."),
        text_answer("Done."),
    )
    async with openai_server(*answers) as server:
        one = await ask(server, first())
        assert [(c.id, c.tool, dict(c.arguments)) for c in one.calls] == [
            ("a1", "read", {"filePath": "a.md"}),
            ("b2", "read", {"filePath": "b.md"}),
        ]
        assert one.usage.tool_calls == 2
        results = [ended("b2", "not yours", ending=Ending.DENIED_BY_RULE), ended("a1", "A text")]
        two = await ask(server, request(stored([task(), one, *results]), model="lab/small"))

    assert two.text == "Done."
    messages = server.bodies[1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert messages[2]["content"] == "Both."
    assert [(c["id"], json.loads(c["function"]["arguments"])) for c in messages[2]["tool_calls"]] == [
        ("a1", {"filePath": "a.md"}),
        ("b2", {"filePath": "b.md"}),
    ]
    assert messages[3:] == [
        {"role": "tool", "tool_call_id": "a1", "content": "A text"},
        {"role": "tool", "tool_call_id": "b2", "content": "not yours"},
    ]


async def test_a_turn_from_elsewhere_is_sent_without_the_providers_own_form() -> None:
    transcript = stored([task(), said("I read.", call("x", filePath="a.md")), ended("x", "A")])
    async with openai_server(text_answer("ok")) as server:
        await ask(server, request(transcript, model="lab:small"))
    assistant = server.bodies[0]["messages"][2]
    assert assistant["content"] == "I read."
    assert assistant["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"filePath":"a.md"}'}


def test_what_a_provider_signed_comes_back_to_it_unchanged() -> None:
    thinking = ThinkingPart("hm", signature="SIG==", provider_name="anthropic")
    given = ModelResponse(parts=[thinking, ToolCallPart("read", {"filePath": "a"}, "x")], provider_name="anthropic")
    one = turn_of(given, first())
    messages = messages_of(request(stored([task(), one, ended("x", "A")]), model="anthropic:m"))
    sent = messages[1]
    assert isinstance(sent, ModelResponse)
    assert (sent.parts[0], sent.provider_name) == (thinking, "anthropic")


def test_what_became_of_a_call_is_told_in_the_librarys_words() -> None:
    endings = list(Ending)
    one = said("", *(call(f"c{i}") for i in range(len(endings))))
    results = [ended(f"c{i}", ending.value, ending=ending) for i, ending in enumerate(endings)]
    told = messages_of(request(stored([task(), one, *results]), model="lab:small"))[2]
    outcomes = {part.content: part.outcome for part in told.parts if isinstance(part, ToolReturnPart)}
    assert outcomes == {
        "done": "success",
        "failed": "failed",
        "denied by rule": "denied",
        "denied by the person": "denied",
        "nobody could be asked": "denied",
        "nobody answered in time": "denied",
        "interrupted, outcome unknown": "interrupted",
        "cancelled": "interrupted",
    }


async def test_a_damaged_form_of_the_provider_falls_back_to_text_and_calls() -> None:
    transcript = stored([task(), said("I read.", call("x", filePath="a.md"), opaque='[{"kind": "no such"}]'), ended("x", "A")])
    async with openai_server(text_answer("ok")) as server:
        await ask(server, request(transcript, model="lab:small"))
    assert server.bodies[0]["messages"][2]["tool_calls"][0]["id"] == "x"


async def test_the_calls_of_a_stored_turn_go_out_under_their_stored_ids() -> None:
    async with openai_server(calls_answer(("a1", "read", "{}")), text_answer("ok")) as server:
        one = await ask(server, first())
        moved = ModelTurn(text=one.text, calls=(call("other"),), model=one.model, usage=one.usage, opaque=one.opaque)
        await ask(server, request(stored([task(), moved, ended("other", "A")]), model="lab:small"))
    assert server.bodies[1]["messages"][2]["tool_calls"][0]["id"] == "other"
    assert server.bodies[1]["messages"][3]["tool_call_id"] == "other"


async def test_an_image_result_reaches_the_provider_as_an_image() -> None:
    transcript = stored([task(), said("", call("x")), ended("x", "a picture", image=PNG)])
    async with openai_server(text_answer("I see.")) as server:
        await ask(server, request(transcript, model="lab:small"))
    assert f"data:image/png;base64,{PNG}" in json.dumps(server.bodies[0]["messages"])
    assert "a picture" in json.dumps(server.bodies[0]["messages"])


async def test_an_image_that_is_none_becomes_a_note() -> None:
    transcript = stored([task(), said("", call("x")), ended("x", image="no base64!")])
    async with openai_server(text_answer("ok")) as server:
        await ask(server, request(transcript, model="lab:small"))
    assert "cannot be read" in server.bodies[0]["messages"][3]["content"]


async def test_halves_of_characters_do_not_stop_a_turn() -> None:
    transcript = stored([task("bad \udc80 byte"), said("", call("x")), ended("x", "bad \udcff byte")])
    async with openai_server(text_answer("ok")) as server:
        await ask(server, request(transcript, model="lab:small"))
    assert server.bodies[0]["messages"][1]["content"] == "bad ? byte"
    assert server.bodies[0]["messages"][3]["content"] == "bad ? byte"


@pytest.mark.parametrize("raw", ['{"filePath": ', "[1, 2]", '"text"', "null"])
async def test_malformed_arguments_become_a_call_that_says_so_and_the_conversation_goes_on(raw: str) -> None:
    async with openai_server(calls_answer(("m1", "read", raw)), text_answer("Sorry.")) as server:
        one = await ask(server, first())
        assert dict(one.calls[0].arguments) == {MALFORMED: raw}
        refusal = ended("m1", "the arguments are no JSON object", ending=Ending.DENIED_BY_RULE)
        two = await ask(server, request(stored([task(), one, refusal]), model="lab:small"))
    assert two.text == "Sorry."
    sent = server.bodies[1]["messages"][2]["tool_calls"][0]
    assert raw in json.loads(sent["function"]["arguments"]).values()


async def test_long_malformed_arguments_are_shortened() -> None:
    async with openai_server(calls_answer(("m1", "read", "x" * 50_000))) as server:
        turn = await ask(server, first())
    assert len(turn.calls[0].arguments[MALFORMED]) == 2_000


async def test_absent_arguments_are_none_given() -> None:
    async with openai_server(calls_answer(("m1", "read", ""))) as server:
        turn = await ask(server, first())
    assert dict(turn.calls[0].arguments) == {}


async def test_repeated_and_unusable_call_ids_are_renamed_within_a_turn_and_across_turns() -> None:
    twice = calls_answer(("same", "read", "{}"), ("same", "read", "{}"), ("", "read", "{}"), ("a b/" + "c" * 90, "read", "{}"))
    async with openai_server(twice, calls_answer(("same", "read", "{}")), text_answer("ok")) as server:
        one = await ask(server, first())
        ids = [c.id for c in one.calls]
        assert ids[0] == "same"
        assert len(set(ids)) == 4
        so_far = [task(), one, *(ended(id, "x") for id in ids)]
        two = await ask(server, request(stored(so_far), model="lab:small"))
        assert two.calls[0].id not in ids
        await ask(server, request(stored([*so_far, two, ended(two.calls[0].id, "x")]), model="lab:small"))
    messages = server.bodies[2]["messages"]
    sent = [c["id"] for message in messages for c in message.get("tool_calls", [])]
    assert sent == [*ids, two.calls[0].id]
    assert sent == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


async def test_a_made_up_tool_name_is_kept_for_the_gate_and_made_sound_for_the_provider() -> None:
    async with openai_server(calls_answer(("a", "functions.read it", "{}")), text_answer("ok")) as server:
        one = await ask(server, first())
        assert one.calls[0].tool == "functions.read it"
        await ask(server, request(stored([task(), one, ended("a", "no such tool")]), model="lab:small"))
    assert server.bodies[1]["messages"][2]["tool_calls"][0]["function"]["name"] == "functions_read_it"


async def test_an_answer_that_was_cut_off_says_so() -> None:
    async with openai_server(text_answer("Half a sen", finish_reason="length")) as server:
        turn = await ask(server, first())
    assert turn.text == "Half a sen\n[cut off: the limit on the length of one answer was reached]"


async def test_an_answer_that_a_filter_stopped_is_a_failure() -> None:
    async with openai_server(text_answer("", finish_reason="content_filter")) as server:
        with pytest.raises(ProviderFailed, match="content filter"):
            await ask(server, first())


async def test_a_resumed_session_sends_its_tasks_in_order() -> None:
    transcript = (*stored([task("one"), said("first done")]), *stored([task("two")], run="run_2", start=2))
    async with openai_server(text_answer("ok")) as server:
        await ask(server, request(transcript, model="lab:small"))
    assert [(m["role"], m["content"]) for m in server.bodies[0]["messages"][1:]] == [
        ("user", "one"),
        ("assistant", "first done"),
        ("user", "two"),
    ]


async def test_a_call_that_an_earlier_run_left_open_is_answered_as_unknown() -> None:
    transcript = (*stored([task("one"), said("", call("x"))]), *stored([task("two")], run="run_2", start=2))
    async with openai_server(text_answer("ok")) as server:
        await ask(server, request(transcript, model="lab:small"))
    messages = server.bodies[0]["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "user"]
    assert "outcome is unknown" in messages[3]["content"]


async def test_a_turn_while_a_call_is_open_is_refused_and_nothing_is_sent() -> None:
    async with openai_server() as server:
        with pytest.raises(ModelError, match="its call of `read` has no result yet"):
            await ask(server, request(stored([task(), said("", call("x"))]), model="lab:small"))
    assert server.bodies == []


async def test_a_turn_with_nothing_to_answer_is_refused() -> None:
    async with openai_server() as server:
        with pytest.raises(ModelError, match="nothing for it to answer"):
            await ask(server, request(stored([task(), said("done")]), model="lab:small"))
        with pytest.raises(ModelError, match="nothing for it to answer"):
            await ask(server, request([], model="lab:small"))


# ---- failures ------------------------------------------------------------------------------------


async def test_a_busy_provider_is_asked_again_after_the_wait_it_names() -> None:
    pauses = Pauses()
    async with openai_server(error_answer(429, "slow down", headers={"Retry-After": "7"}), text_answer("ok")) as server:
        turn = await ask(server, first(), pauses=pauses)
    assert turn.text == "ok"
    assert pauses.seconds == [7.0]
    assert len(server.bodies) == 2


async def test_a_failing_provider_is_asked_three_times_with_growing_pauses() -> None:
    pauses = Pauses()
    async with openai_server(*(error_answer(500, "broken") for _ in range(5))) as server:
        with pytest.raises(ProviderFailed) as failed:
            await ask(server, first(), pauses=pauses)
    assert str(failed.value) == "provider `lab`, model `small`: HTTP 500: broken (tried 3 times)"
    assert pauses.seconds == [1.0, 2.0]
    assert len(server.bodies) == 3


async def test_a_provider_that_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    pauses = Pauses()
    async with openai_server(error_answer(429, "slow down", headers={"Retry-After": "3600"})) as server:
        with pytest.raises(ProviderFailed, match="asks to wait 3600 s"):
            await ask(server, first(), pauses=pauses)
    assert pauses.seconds == []


@pytest.mark.parametrize(("status", "code"), [(400, None), (401, None), (403, None), (404, None), (429, "insufficient_quota")])
async def test_a_failure_that_will_not_pass_is_not_tried_again(status: int, code: str | None) -> None:
    async with openai_server(error_answer(status, "no", code=code), text_answer("ok")) as server:
        with pytest.raises(ProviderFailed, match=f"HTTP {status}: no$"):
            await ask(server, first())
    assert len(server.bodies) == 1


async def test_no_secret_comes_out_of_a_failure_and_its_text_is_bounded() -> None:
    other = "another-secret-value"
    message = f"bad key {KEY}, Bearer abcdefgh12345678, sk-live-99999999, {other} \x1b[31m\n" + "z" * 5_000
    async with openai_server(error_answer(401, message)) as server:
        with pytest.raises(ProviderFailed) as failed:
            await ask(server, first(), environment={"LAB_KEY": KEY, "OTHER_TOKEN": other})
    text = str(failed.value)
    assert "bad key [secret], [secret], [secret], [secret] [31m zzz" in text
    assert len(text) < 600
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


async def test_a_provider_that_cannot_be_reached_is_named_with_its_address() -> None:
    async with openai_server() as server:
        gone = server.base_url
    pauses = Pauses()
    with anyio.fail_after(LONG), pytest.raises(ProviderFailed) as failed:
        await backends(gone, pauses=pauses).turn(first())
    assert f"cannot be reached at {gone}" in str(failed.value)
    assert len(pauses.seconds) == 2


async def test_an_answer_that_is_no_completion_is_a_failure() -> None:
    async with openai_server(HTMLResponse("<html>login</html>")) as server:
        with pytest.raises(ProviderFailed, match="provider `lab`, model `small`"):
            await ask(server, first())


async def test_a_silent_provider_is_given_up_after_the_bound_of_a_try() -> None:
    pauses = Pauses()
    async with openai_server() as server:
        server.silent = True
        with pytest.raises(ProviderFailed, match=r"no answer in time \(tried 2 times\)"):
            await ask(server, first(), pauses=pauses, tries=2, try_seconds=0.05)
    assert len(pauses.seconds) == 1
    assert len(server.bodies) <= 2, "a try may be over before it has come through"


async def test_a_silent_provider_is_given_up_after_the_bound_of_the_turn() -> None:
    async with openai_server() as server:
        server.silent = True
        with pytest.raises(ProviderFailed, match=r"no answer in 0\.2 s, all tries together"):
            await ask(server, first(), turn_seconds=0.2)


async def test_cancelling_a_turn_ends_its_request() -> None:
    async with openai_server() as server:
        server.silent = True
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(backends(server.base_url).turn, first())
                await server.asked.wait()
                group.cancel_scope.cancel()
    assert len(server.bodies) == 1


# ---- configuration -------------------------------------------------------------------------------


async def test_an_unknown_option_of_an_agent_is_refused_before_anything_is_sent() -> None:
    async with openai_server() as server:
        for option in ("max_token", "timeout", "anthropic_thinking"):
            with pytest.raises(ModelNotConfigured, match=f"option `{option}` of agent `explore`"):
                await ask(server, first(options={option: 1}))
    assert server.bodies == []


async def test_a_providers_own_option_is_passed_on() -> None:
    async with openai_server(text_answer("ok")) as server:
        await ask(server, first(options={"openai_logprobs": True, "seed": 4}, top_p=0.5))
    assert (server.bodies[0]["logprobs"], server.bodies[0]["seed"], server.bodies[0]["top_p"]) == (True, 4, 0.5)


async def test_ollama_is_reached_at_the_address_its_variable_names_without_a_key() -> None:
    async with openai_server(text_answer("ok")) as server:
        provider = ProviderBackend(environment={"OLLAMA_BASE_URL": server.base_url})
        both = Backends(scripted=ScriptedBackend(base=Path()), provider=provider)
        with anyio.fail_after(LONG):
            turn = await both.turn(request(stored([task()]), model="ollama:llama3.2:3b"))
    assert turn.text == "ok"
    assert server.bodies[0]["model"] == "llama3.2:3b"


async def test_a_key_is_not_sent_to_another_address_unless_the_configuration_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("openai", "openai-responses", "lab", "anthropic"):
        async with openai_server(text_answer("ok")) as server:
            provider = ProviderBackend(
                providers={name: ProviderConfig(name=name, base_url=server.base_url)}, environment={"OPENAI_API_KEY": KEY}
            )
            endpoint = provider.endpoint(ProviderModel(provider=name, model="small"))
            assert endpoint.key is None
            if name in ("openai", "lab"):
                both = Backends(scripted=ScriptedBackend(base=Path()), provider=provider)
                with anyio.fail_after(LONG):
                    await both.turn(request(stored([task()]), model=f"{name}:small"))
                assert KEY not in json.dumps(server.headers)
