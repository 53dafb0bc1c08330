"""Tells telemetry of each turn: who was asked, who answered, how long it took, what it cost. Of the turn itself, nothing."""

import time
from dataclasses import dataclass

from mcp_server.errors import AnswerAwaited, ModelNotConfigured
from mcp_server.records import ModelTurn, Usage
from mcp_server.sessions.models.base import ModelBackend, TurnRequest
from mcp_server.sessions.models.names import ClientsModel, ProviderModel, ScriptedModel, parse_model
from mcp_server.telemetry.base import ModelName, Telemetry, TurnTold


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Another back end, and who is told of its turns."""

    backend: ModelBackend
    telemetry: Telemetry

    async def turn(self, request: TurnRequest) -> ModelTurn:
        """As `ModelBackend.turn`."""
        if not self.telemetry.on:
            return await self.backend.turn(request)
        began = time.time_ns()
        try:
            turn = await self.backend.turn(request)
        except AnswerAwaited:
            raise  # nobody has answered, and nobody has failed: it is asked again
        except Exception as error:
            self._tell(request, began, None, type(error).__qualname__)
            raise
        self._tell(request, began, turn, "")
        return turn

    def _tell(self, request: TurnRequest, began: int, turn: ModelTurn | None, error: str) -> None:
        asked = name_of(request.model)
        told = TurnTold(
            session_id=request.session_id,
            agent=request.agent,
            asked=asked,
            answered=None if turn is None else name_of(turn.model, asked),
            began=began,
            usage=Usage() if turn is None else turn.usage,
            error=error,
            trace=request.trace,
        )
        self.telemetry.turn(told)


def name_of(text: str, asked: ModelName | None = None) -> ModelName:
    """A model string without what tells of this machine: a script is a file's path. A bare name is one of the asked model's provider."""
    try:
        match parse_model(text, ""):
            case ScriptedModel():
                return ModelName(provider="scripted", model="scripted")
            case ClientsModel(hint=hint):
                return ModelName(provider="client", model=hint or "client")
            case ProviderModel(provider=provider, model=model):
                return ModelName(provider=provider, model=model)
    except ModelNotConfigured:
        return ModelName(provider=asked.provider, model=text[:100]) if asked else ModelName(provider="unknown", model="unknown")
