"""One model turn, whatever gives it: a provider, or a script.

Below are the adapters; above is the run loop, which stores what a turn returns before it acts on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import ModelTurn, StoredEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool as the model is shown it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments, an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """All that a back end needs for one turn. The transcript is the whole of its memory."""

    session_id: SessionId
    agent: str
    model: str
    """`provider:model`, `scripted:<file>`, or `client`."""
    fallback: str | None = None
    """The model that is asked where that one fails for good."""
    system: str
    transcript: tuple[StoredEntry, ...]
    tools: tuple[ToolOffer, ...]
    temperature: float | None = None
    top_p: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    chain: tuple[SessionId, ...] = ()
    """The sessions from the root down to this one, where its run can rest until a client's own model has answered.
    Empty: it cannot, so no client is asked."""
    trace: str = ""
    """Where telemetry tells of the run that asks: W3C `traceparent`."""


MALFORMED = "__malformed__"
"""The one key of a call's arguments where the model sent something that is no JSON object; the value is what it sent,
shortened. Never an argument of a tool: the gate refuses such a call as malformed, with words that the model can act on."""


CUT_OFF = "[cut off: the limit on the length of one answer was reached]"
"""Added to an answer that was cut off, so that a part of it does not pass for the whole."""


class ModelBackend(Protocol):
    """Gives turns."""

    async def turn(self, request: TurnRequest) -> ModelTurn:
        """One answer of the model to the transcript as it stands.

        Raises:
            ModelNotConfigured: Nothing is set for this model string, or its extra is missing; says what to do.
            ProviderFailed: The provider failed; the text holds no secret.
            ScriptFault: A scripted model ran past its script or missed an `expect`.
            AnswerAwaited: A client's own model is asked; ask again when it has answered.
        """
        ...
