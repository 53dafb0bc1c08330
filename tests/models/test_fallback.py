"""A second model where the first fails for good, and only there."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from mcp_server.errors import AnswerWithheld, ModelError, ModelNotConfigured, ProviderFailed, ScriptFault
from mcp_server.records import ModelTurn, Usage
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.fallback import REST, Fallback
from tests.models.transcripts import request, stored, task


@dataclass
class Wired:
    """A back end whose models fail as they are told to, and answer otherwise."""

    failing: dict[str, ModelError] = field(default_factory=dict[str, ModelError])
    asked: list[TurnRequest] = field(default_factory=list[TurnRequest])

    async def turn(self, request: TurnRequest) -> ModelTurn:
        self.asked.append(request)
        if error := self.failing.get(request.model):
            raise error
        return ModelTurn(text=f"{request.model} here", calls=(), model=request.model, usage=Usage(turns=1))


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def asked(fallback: str | None = "b:small", **more: Any) -> TurnRequest:
    return request(stored([task()]), model="a:big", fallback=fallback, **more)


@pytest.mark.parametrize("error", [ProviderFailed("HTTP 503: down (tried 3 times)"), ModelNotConfigured("provider `a` has no key")])
async def test_where_the_first_model_fails_for_good_the_fallback_answers_and_says_so(error: ModelError) -> None:
    backend = Wired(failing={"a:big": error})
    turn = await Fallback(backend=backend).turn(asked())
    assert (turn.text, turn.model) == ("b:small here", "b:small")
    assert turn.instead == f"`a:big` failed: {error}"


@pytest.mark.parametrize("error", [AnswerWithheld("its model refused"), ScriptFault("a turn too many")])
async def test_a_refusal_and_a_faulty_script_stand(error: ModelError) -> None:
    backend = Wired(failing={"a:big": error})
    with pytest.raises(type(error), match=str(error)):
        await Fallback(backend=backend).turn(asked())
    assert len(backend.asked) == 1


async def test_the_fallbacks_own_refusal_stands_too() -> None:
    backend = Wired(failing={"a:big": ProviderFailed("down"), "b:small": AnswerWithheld("its model refused")})
    with pytest.raises(AnswerWithheld, match="its model refused"):
        await Fallback(backend=backend).turn(asked())


async def test_where_both_fail_the_error_names_both() -> None:
    backend = Wired(failing={"a:big": ProviderFailed("A is down"), "b:small": ProviderFailed("B is down")})
    with pytest.raises(ProviderFailed, match=r"^A is down; and the fallback failed too: B is down$"):
        await Fallback(backend=backend).turn(asked())


@pytest.mark.parametrize("fallback", [None, "a:big"])
async def test_without_another_model_the_first_ones_failure_stands(fallback: str | None) -> None:
    backend = Wired(failing={"a:big": ProviderFailed("A is down")})
    with pytest.raises(ProviderFailed, match=r"^A is down$"):
        await Fallback(backend=backend).turn(asked(fallback))
    assert len(backend.asked) == 1


async def test_a_model_that_answers_is_the_only_one_asked() -> None:
    backend = Wired()
    turn = await Fallback(backend=backend).turn(asked())
    assert (turn.model, turn.instead, len(backend.asked)) == ("a:big", "", 1)


async def test_a_model_that_failed_rests_for_a_while_and_is_then_asked_again() -> None:
    clock, backend = Clock(), Wired(failing={"a:big": ProviderFailed("A is down")})
    fallback = Fallback(backend=backend, clock=clock)
    for _ in range(2):
        turn = await fallback.turn(asked())
        assert turn.instead == "`a:big` failed: A is down"
    assert [one.model for one in backend.asked] == ["a:big", "b:small", "b:small"]
    clock.now += REST
    backend.failing.clear()
    assert (await fallback.turn(asked())).model == "a:big"


async def test_options_for_the_first_models_provider_alone_are_not_sent_to_the_fallback() -> None:
    backend = Wired(failing={"a:big": ProviderFailed("A is down")})
    await Fallback(backend=backend).turn(asked(options={"a_thinking": {"type": "enabled"}, "max_tokens": 9, "stream": True}))
    assert dict(backend.asked[1].options) == {"max_tokens": 9, "stream": True}
