"""`remit doctor --models`: does each configured model answer? One short call to each, at the person's word."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import anyio

from mcp_server.agents.definition import AgentDefinition
from mcp_server.app import backend_of
from mcp_server.cli.finding import Finding
from mcp_server.cli.here import Here
from mcp_server.errors import ModelError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import RunId, StoredEntry, TaskGiven
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.endpoints import ProviderLimits
from mcp_server.sessions.models.names import SCRIPTED, is_client
from mcp_server.sessions.wording import cost_of

LIMITS = ProviderLimits(tries=1, try_seconds=30.0, turn_seconds=30.0)
"""A person looks on: one try, and half a minute is longer than any model that is of use takes for a word."""

WORD = "Answer with the one word: ready"
ROOM = 64
"""Tokens of the answer: a few cents' hundredths at most, and room for models that think before they speak."""


def models_wanted(place: Here, agents: Mapping[str, AgentDefinition]) -> dict[str | None, list[str]]:
    """Every model that a turn may be asked of, fallbacks too, and the agents that it is for. None: agents without one."""
    wanted: dict[str | None, list[str]] = {}
    for name, agent in sorted(agents.items()):
        if agent.mode == "primary":
            continue
        wanted.setdefault(place.settings.model_for(agent.model, hidden=agent.hidden), []).append(name)
        fallback = agent.fallback or place.settings.model_fallback
        if fallback is not None:
            wanted.setdefault(fallback, []).append(f"{name} (fallback)")
    return wanted


def call_models(place: Here, models: Sequence[str]) -> Iterator[Finding]:
    """Call each once, all at the same time. Scripted models have nobody to call, and a client's own is asked by its client alone."""
    backends = backend_of(place.settings, place.workspace, os.environ)
    asking = replace(backends, provider=replace(backends.provider, limits=LIMITS))
    real = [model for model in models if not model.startswith(SCRIPTED) and not is_client(model)]
    yield from anyio.run(_all, asking, real)


async def _all(backends: Backends, models: Sequence[str]) -> list[Finding]:
    findings: dict[str, Finding] = {}

    async def one(model: str) -> None:
        findings[model] = await _called(backends, model)

    async with anyio.create_task_group() as group:
        for model in models:
            group.start_soon(one, model)
    return [findings[model] for model in models]


async def _called(backends: Backends, model: str) -> Finding:
    given = StoredEntry(seq=1, run_id=RunId(""), at=0.0, entry=TaskGiven(text=WORD))
    request = TurnRequest(
        session_id=SessionId("doctor"),
        agent="doctor",
        model=model,
        system="You are asked whether you can be reached.",
        transcript=(given,),
        tools=(),
        options={"max_tokens": ROOM},
    )
    begun = time.monotonic()
    try:
        turn = await backends.turn(request)
    except ModelError as error:
        return Finding(about="call", state="fault", says=f"{model}: {error}", remedy="mend that, or set another model")
    took, usage = time.monotonic() - begun, turn.usage
    says = f"{model} answered in {took:.2f} s ({usage.input_tokens} tokens in, {usage.output_tokens} out, {cost_of(usage)})"
    return Finding(about="call", state="ok", says=says)
