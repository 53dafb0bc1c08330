"""A second model for turns that the first one cannot give. Knows nothing of what a model is: it asks one back end twice."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from mcp_server.errors import AnswerWithheld, ModelNotConfigured, ProviderFailed
from mcp_server.records import ModelTurn
from mcp_server.sessions.models.base import ModelBackend, TurnRequest
from mcp_server.sessions.models.names import ProviderModel, is_client, option_prefix, parse_model

log = structlog.get_logger(__name__)

REST = 120.0
"""Seconds for which a model that failed for good is not asked again: it has been tried with pauses already, and a run of many turns
must not wait for that at each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """Asks a request's model, and its fallback where that fails for good. A refusal to answer is no failure: it stands."""

    backend: ModelBackend
    clock: Callable[[], float] = time.monotonic
    resting: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    """Models that failed: until when they are left alone, and why."""

    async def turn(self, request: TurnRequest) -> ModelTurn:
        """As `ModelBackend.turn`.

        Raises:
            ProviderFailed: Both failed; the text says how.
        """
        if request.fallback is None or request.fallback == request.model:
            return await self.backend.turn(request)
        until, why = self.resting.get(request.model, (0.0, ""))
        if self.clock() >= until:
            try:
                return await self.backend.turn(request)
            except AnswerWithheld:
                raise
            except (ProviderFailed, ModelNotConfigured) as error:
                why = str(error)
            if not is_client(request.model):  # the next request's client may well answer
                self.resting[request.model] = (self.clock() + REST, why)
            log.warning("a model failed; its fallback answers", agent=request.agent, fallback=request.fallback, why=why)
        return await self._instead(request, request.fallback, why)

    async def _instead(self, request: TurnRequest, fallback: str, why: str) -> ModelTurn:
        try:
            turn = await self.backend.turn(replace(request, model=fallback, options=_portable(request)))
        except AnswerWithheld:
            raise
        except (ProviderFailed, ModelNotConfigured) as error:
            raise ProviderFailed(f"{why}; and the fallback failed too: {error}") from None
        return replace(turn, instead=f"`{request.model}` failed: {why}")


def _portable(request: TurnRequest) -> dict[str, object]:
    """The options that are not meant for the first model's provider alone."""
    try:
        first = parse_model(request.model, request.agent)
    except ModelNotConfigured:
        return dict(request.options)
    if not isinstance(first, ProviderModel):
        return dict(request.options)
    return {name: value for name, value in request.options.items() if not name.startswith(option_prefix(first.provider))}
