"""Builds stored transcripts for the tests of model back ends, an entry a call."""

from collections.abc import Sequence
from typing import Any

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import (
    CallEnded,
    Ending,
    Entry,
    ImagePart,
    ModelTurn,
    RunId,
    StoredEntry,
    TaskGiven,
    TextPart,
    Usage,
)
from mcp_server.sessions.models.base import ToolOffer, TurnRequest

READ = ToolOffer(
    name="read",
    description="Read a file.",
    schema={"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]},
)


def stored(entries: Sequence[Entry], *, run: str = "run_1", start: int = 0) -> tuple[StoredEntry, ...]:
    return tuple(StoredEntry(seq=start + i, run_id=RunId(run), at=0.0, entry=entry) for i, entry in enumerate(entries))


def request(
    transcript: Sequence[StoredEntry], *, model: str, agent: str = "explore", system: str = "You explore.", **more: Any
) -> TurnRequest:
    return TurnRequest(
        session_id=SessionId("ses_1"), agent=agent, model=model, system=system, transcript=tuple(transcript), tools=(READ,), **more
    )


def call(id: str, tool: str = "read", **arguments: Any) -> ToolCall:
    return ToolCall(id=CallId(id), tool=tool, arguments=arguments)


def said(text: str = "", *calls: ToolCall, opaque: str | None = None) -> ModelTurn:
    return ModelTurn(text=text, calls=calls, model="any:model", usage=Usage(turns=1), opaque=opaque)


def ended(
    id: str, text: str = "", *, tool: str = "read", ending: Ending = Ending.DONE, image: str = "", structured: dict[str, Any] | None = None
) -> CallEnded:
    parts = (TextPart(text=text),) if text else ()
    images = (ImagePart(media_type="image/png", data=image),) if image else ()
    return CallEnded(call_id=CallId(id), tool=tool, ending=ending, parts=(*parts, *images), structured=structured)


def task(text: str = "Look around.") -> TaskGiven:
    return TaskGiven(text=text)
