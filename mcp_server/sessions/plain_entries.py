"""An entry of a transcript as plain values, for whatever reads JSON. What is a provider's own is left out, and so is what images hold."""

from typing import Any, assert_never

from mcp_server.policy.values import ToolCall
from mcp_server.records import CallEnded, CallStarted, Compacted, ModelTurn, StoredEntry, TaskGiven
from mcp_server.tools.plain_parts import in_words


def plain_entry(stored: StoredEntry) -> dict[str, Any]:
    """Its place, its time (seconds since the epoch), its kind, and what it holds."""
    return {"seq": stored.seq, "at": stored.at, "run": stored.run_id, "kind": stored.entry.kind, **_fields(stored)}


def _fields(stored: StoredEntry) -> dict[str, Any]:
    match stored.entry:
        case TaskGiven() as given:
            return {"text": given.text}
        case ModelTurn() as turn:
            return {"model": turn.model, "text": turn.text, "instead": turn.instead, "calls": [plain_call(call) for call in turn.calls]}
        case CallStarted() as started:
            return {"call": started.call_id}
        case CallEnded() as ended:
            return {"call": ended.call_id, "tool": ended.tool, "ending": ended.ending.value, "text": text_of(ended)}
        case Compacted() as compacted:
            return {"model": compacted.model, "text": compacted.summary, "through": compacted.through}
        case _:
            assert_never(stored.entry)


def plain_call(call: ToolCall) -> dict[str, Any]:
    """What the model asked for."""
    return {"id": call.id, "tool": call.tool, "arguments": dict(call.arguments)}


def text_of(ended: CallEnded) -> str:
    """What the model was told of a call."""
    return "\n".join(in_words(part) for part in ended.parts)
