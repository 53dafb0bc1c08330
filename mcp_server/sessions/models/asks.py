"""What a client's own model is asked, and what comes back: values, free of any protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import ModelTurn, Usage
from mcp_server.sessions.condensed import in_view
from mcp_server.sessions.models.base import TurnRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsk:
    """One turn that is to come from a client's own model."""

    id: str
    request: TurnRequest
    hint: str | None = None
    """The model's name, or a part of one, that the settings would like."""

    @property
    def chain(self) -> tuple[SessionId, ...]:
        """The sessions of its path, root first."""
        return self.request.chain

    @property
    def needs_tools(self) -> bool:
        """Can only a model that knows tools answer it? Also one whose transcript holds calls."""
        _, shown = in_view(self.request.transcript)
        return bool(self.request.tools) or any(isinstance(stored.entry, ModelTurn) and stored.entry.calls for stored in shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidCall:
    """A call that the model wants made. Nothing of it is checked yet."""

    id: str
    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The client's model has answered."""

    text: str
    calls: tuple[SaidCall, ...] = ()
    model: str
    """As the client calls it."""
    usage: Usage = field(default_factory=Usage)
    """Zero where the client does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSaid:
    """There will be no answer."""

    reason: str
    withheld: bool = False
    """The person at the client, or its model, refused: nobody else is to be asked instead."""
