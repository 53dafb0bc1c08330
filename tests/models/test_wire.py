"""Every provider's adapter against a server of its own wire format: the same behaviour from each, whole and in pieces."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from starlette.responses import JSONResponse, Response

from mcp_server.errors import AnswerWithheld, ProviderFailed
from mcp_server.records import Ending, ModelTurn, Usage
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.base import MALFORMED, TurnRequest
from mcp_server.sessions.models.endpoints import ProviderConfig, ProviderLimits
from mcp_server.sessions.models.provider import ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend
from tests.bounds import LONG
from tests.models.transcripts import ended, request, stored, task
from tests.models.wire_forms import (
    FORMS,
    OUT,
    PLAIN,
    READ,
    WRITTEN,
    Anthropic,
    Compatible,
    Form,
    Given,
    Google,
    Ollama,
    OpenAIChat,
    OpenAIResponses,
)
from tests.models.wire_server import WireServer, body_of, wire_server

KEY = "sk-test-0123456789abcdef"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.provider)
either_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Pauses:
    """Pauses that take no time, and are remembered."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def ask(server: WireServer, form: Form, asked: TurnRequest, pauses: Pauses | None = None) -> ModelTurn:
    config = ProviderConfig(name=form.provider, base_url=server.address + form.suffix, api_key_env="LAB_KEY")
    provider = ProviderBackend(
        providers={form.provider: config}, environment={"LAB_KEY": KEY}, limits=ProviderLimits(), pause=pauses or Pauses()
    )
    with anyio.fail_after(LONG):
        return await Backends(scripted=ScriptedBackend(base=Path()), provider=provider).turn(asked)


def asked(form: Form, *entries: Any, stream: bool = False) -> TurnRequest:
    options: dict[str, Any] = {"stream": True} if stream else {"max_tokens": 1_000}
    return request(stored([task(), *entries]), model=f"{form.provider}:{form.model}", options=options)


@every_form
@either_way
async def test_a_turn_gives_back_its_text_and_what_it_was_counted_with(form: Form, stream: bool) -> None:
    async with wire_server(form.answer(Given(text="Nothing here."), stream=stream)) as server:
        turn = await ask(server, form, asked(form, stream=stream))
    assert (turn.text, turn.calls, turn.model) == ("Nothing here.", (), f"{form.provider}:{form.model}")
    assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cached_tokens) == (PLAIN + READ + WRITTEN, OUT, READ)
    assert KEY in json.dumps(server.headers[0])
    assert "You explore." in json.dumps(server.bodies[0])
    assert "Look around." in json.dumps(server.bodies[0])


@every_form
@either_way
async def test_calls_and_their_results_go_there_and_back(form: Form, stream: bool) -> None:
    two = Given(text="Both.", calls=[("a1", "read", {"filePath": "a.md"}), ("b2", "read", {"filePath": "b.md"})])
    async with wire_server(form.answer(two, stream=stream), form.answer(Given(text="Done."), stream=stream)) as server:
        one = await ask(server, form, asked(form, stream=stream))
        assert [(c.id, c.tool, dict(c.arguments)) for c in one.calls] == [
            ("a1", "read", {"filePath": "a.md"}),
            ("b2", "read", {"filePath": "b.md"}),
        ]
        assert one.usage.tool_calls == 2
        results = [ended("b2", "not yours", ending=Ending.DENIED_BY_RULE), ended("a1", "A text")]
        last = await ask(server, form, asked(form, one, *results, stream=stream))
    assert last.text == "Done."
    sent = json.dumps(server.bodies[1])
    assert sent.index("A text") < sent.index("not yours")
    assert sent.index("a.md") < sent.index("A text")


@pytest.mark.parametrize("form", [form for form in FORMS if form.provider != "google"], ids=lambda form: form.provider)
@either_way
async def test_malformed_arguments_reach_the_gate_as_such_and_the_model_is_told(form: Form, stream: bool) -> None:
    wrong: Any = ["a.md"] if isinstance(form, Anthropic) and not stream else '{"filePath": '
    first = form.answer(Given(calls=[("m1", "read", wrong)]), stream=stream)
    async with wire_server(first, form.answer(Given(text="Sorry."), stream=stream)) as server:
        one = await ask(server, form, asked(form, stream=stream))
        assert list(one.calls[0].arguments) == [MALFORMED]
        told = ended("m1", "the arguments are no JSON object", ending=Ending.FAILED)
        two = await ask(server, form, asked(form, one, told, stream=stream))
    assert two.text == "Sorry."
    assert "the arguments are no JSON object" in json.dumps(server.bodies[1])


@every_form
@either_way
async def test_a_refusal_to_answer_is_told_as_one_and_not_asked_again(form: Form, stream: bool) -> None:
    pauses = Pauses()
    async with wire_server(form.answer(Given(text="I cannot help.", refused=True), stream=stream)) as server:
        if isinstance(form, Anthropic):
            turn = await ask(server, form, asked(form, stream=stream), pauses)
            assert turn.text == "I cannot help.\n[cut off: the provider's content filter stopped the answer here]"
        else:
            with pytest.raises(AnswerWithheld, match="the provider held the answer back"):
                await ask(server, form, asked(form, stream=stream), pauses)
    assert (len(server.bodies), pauses.seconds) == (1, [])


@every_form
@either_way
async def test_a_rate_limit_is_waited_for_as_long_as_it_says(form: Form, stream: bool) -> None:
    pauses = Pauses()
    busy = form.error(429, "slow down", {"Retry-After": "7"})
    async with wire_server(busy, form.answer(Given(text="ok"), stream=stream)) as server:
        turn = await ask(server, form, asked(form, stream=stream), pauses)
    assert turn.text == "ok"
    assert (len(server.bodies), pauses.seconds) == (2, [7.0])


@every_form
@either_way
async def test_a_request_that_is_wrong_fails_at_once_with_the_providers_words(form: Form, stream: bool) -> None:
    async with wire_server(form.error(400, f"the prompt is too long; key {KEY}", {})) as server:
        with pytest.raises(ProviderFailed) as failed:
            await ask(server, form, asked(form, stream=stream))
    text = str(failed.value)
    assert text == f"provider `{form.provider}`, model `{form.model}`: HTTP 400: the prompt is too long; key [secret]"
    assert len(server.bodies) == 1


@every_form
@either_way
async def test_an_image_reaches_the_provider_as_an_image(form: Form, stream: bool) -> None:
    call = Given(calls=[("x", "read", {"filePath": "a.png"})])
    async with wire_server(form.answer(call, stream=stream), form.answer(Given(text="I see."), stream=stream)) as server:
        one = await ask(server, form, asked(form, stream=stream))
        await ask(server, form, asked(form, one, ended("x", "a picture", image=PNG), stream=stream))
    sent = json.dumps(server.bodies[1])
    assert PNG[:40] in sent.replace("\\/", "/")
    assert "a picture" in sent


@every_form
async def test_a_stream_that_breaks_off_is_no_answer(form: Form) -> None:
    whole = await body_of(form.answer(Given(text="Half of it is here."), stream=True))
    half = whole[: whole.index(b"\n\n", len(whole) // 3) + 2]
    broken = [Response(half, media_type="text/event-stream") for _ in range(3)]
    async with wire_server(*broken) as server:
        with pytest.raises(ProviderFailed, match=f"provider `{form.provider}`"):
            await ask(server, form, asked(form, stream=True))


async def test_a_call_that_google_itself_could_not_read_is_asked_for_again() -> None:
    form, pauses = Google(), Pauses()
    candidate: dict[str, Any] = {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}
    for bad in (JSONResponse({"candidates": [candidate]}), form.answer(Given(calls=[("m1", "read", ["a.md"])]), stream=False)):
        async with wire_server(bad, form.answer(Given(text="ok"), stream=False)) as server:
            turn = await ask(server, form, asked(form), pauses)
        assert turn.text == "ok"
    assert pauses.seconds == [1.0, 1.0]


# ---- prompt caching ------------------------------------------------------------------------------


def marks(value: Any) -> int:
    """How many cache marks lie anywhere in a body."""
    return json.dumps(value).count('"cache_control"')


async def test_anthropic_is_asked_to_cache_tools_system_and_the_growing_conversation() -> None:
    form = Anthropic()
    async with wire_server(form.answer(Given(text="ok"), stream=False)) as server:
        turn = await ask(server, form, asked(form))
    body = server.bodies[0]
    assert (marks(body["tools"][-1]), marks(body["system"]), body["cache_control"]["type"]) == (1, 1, "ephemeral")
    assert turn.usage.cache_written_tokens == WRITTEN


async def test_an_agent_may_say_how_long_its_cache_lasts_or_that_there_is_none() -> None:
    form = Anthropic()
    for cache, expected in (("1h", '"1h"'), (False, None)):
        async with wire_server(form.answer(Given(text="ok"), stream=False)) as server:
            await ask(server, form, request(stored([task()]), model=f"anthropic:{form.model}", options={"cache": cache, "max_tokens": 900}))
        sent = json.dumps(server.bodies[0])
        assert (expected in sent) if expected else (marks(sent) == 0)


async def test_an_agent_without_tools_speaks_once_and_fills_no_cache() -> None:
    form = Anthropic()
    async with wire_server(form.answer(Given(text="ok"), stream=False)) as server:
        await ask(server, form, replace(asked(form), tools=()))
    assert marks(server.bodies[0]) == 0


async def test_the_start_of_a_conversation_stays_the_same_from_turn_to_turn_so_that_caches_hit() -> None:
    form = OpenAIChat()
    call = Given(calls=[("x", "read", {"filePath": "a.md"})])
    async with wire_server(form.answer(call, stream=False), form.answer(Given(text="ok"), stream=False)) as server:
        one = await ask(server, form, asked(form))
        await ask(server, form, asked(form, one, ended("x", "A")))
    first, second = server.bodies
    assert first["tools"] == second["tools"]
    assert first["messages"] == second["messages"][: len(first["messages"])]


# ---- what it cost --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [Anthropic(), OpenAIChat(), OpenAIResponses(), Google()], ids=lambda form: form.provider)
@either_way
async def test_a_model_whose_price_is_known_says_what_a_turn_cost(form: Form, stream: bool) -> None:
    async with wire_server(form.answer(Given(text="ok"), stream=stream)) as server:
        turn = await ask(server, form, asked(form, stream=stream))
    counted = PricedUsage(
        input_tokens=PLAIN + READ + WRITTEN,
        cache_read_tokens=READ,
        cache_write_tokens=WRITTEN if isinstance(form, Anthropic) else 0,
        output_tokens=OUT,
    )
    price = calc_price(counted, form.model, provider_id=form.provider.removesuffix("-responses"))
    assert turn.usage.cost == pytest.approx(float(price.total_price))
    assert price.total_price > 0
    assert turn.usage.unpriced == 0


@pytest.mark.parametrize("form", [Ollama(), Compatible()], ids=lambda form: form.provider)
async def test_a_model_whose_price_nobody_knows_has_no_cost_and_is_counted_as_such(form: Form) -> None:
    async with wire_server(form.answer(Given(text="ok"), stream=False)) as server:
        turn = await ask(server, form, asked(form))
    assert (turn.usage.cost, turn.usage.unpriced) == (None, 1)


def test_what_is_not_known_never_counts_as_nothing() -> None:
    known, unknown = Usage(turns=1, cost=0.25), Usage(turns=1, unpriced=1)
    assert (known + unknown).cost == 0.25
    assert (known + unknown).unpriced == 1
    assert (unknown + unknown).cost is None
    assert (Usage() + Usage()).cost is None
    assert (known + known).cost == 0.5


async def test_the_size_of_a_known_models_window_is_noted_with_its_turns() -> None:
    for form, known in ((Anthropic(), True), (Compatible(), False)):
        async with wire_server(form.answer(Given(text="ok"), stream=False)) as server:
            turn = await ask(server, form, asked(form))
        assert (turn.window is not None) == known
