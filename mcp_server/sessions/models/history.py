"""From a stored transcript to pydantic-ai's messages. The transcript is all there is: nothing is remembered between turns."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, assert_never

from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from mcp_server.errors import ModelError
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import CallEnded, CallStarted, Compacted, Ending, ModelTurn, Part, TaskGiven
from mcp_server.records import TextPart as StoredText
from mcp_server.sessions.condensed import in_view
from mcp_server.sessions.models.base import MALFORMED, TurnRequest
from mcp_server.sessions.models.wording import LEFT_OPEN, sound, wire_name
from mcp_server.tools.plain_parts import plain


def messages_of(request: TurnRequest) -> list[ModelMessage]:
    """The conversation as the provider is to see it, each call followed by its result.

    Raises:
        ModelError: A call of the current run has no result yet, so it is not the model's turn.
    """
    condensed, shown = in_view(request.transcript)
    ended = {stored.entry.call_id: stored.entry for stored in shown if isinstance(stored.entry, CallEnded)}
    newest = request.transcript[-1].run_id if request.transcript else None
    messages: list[ModelMessage] = []
    told: list[ModelRequestPart] = [UserPromptPart(sound(condensed))] if condensed else []
    for stored in shown:
        match stored.entry:
            case TaskGiven(text=text):
                told.append(UserPromptPart(sound(text)))
            case ModelTurn() as turn:
                response = _response(turn)
                if response.parts:
                    messages += [_asked(told, request.system)] if told else []
                    messages.append(response)
                    told = [_returned(call, ended, may_be_open=stored.run_id != newest) for call in turn.calls]
            case CallStarted() | CallEnded() | Compacted():
                pass
            case _:
                assert_never(stored.entry)
    if not told:
        raise ModelError("the model was asked for a turn, but there is nothing for it to answer")
    return [*messages, _asked(told, request.system)]


def renamed(response: ModelResponse, ids: tuple[CallId, ...]) -> ModelResponse:
    """The same response, its calls under these ids, in order."""
    left = iter(ids)
    parts = [
        replace(part, tool_call_id=next(left), tool_name=wire_name(part.tool_name)) if isinstance(part, ToolCallPart) else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def _asked(parts: list[ModelRequestPart], system: str) -> ModelRequest:
    return ModelRequest(parts=list(parts), instructions=sound(system) or None)


def _response(turn: ModelTurn) -> ModelResponse:
    """The provider's own form where it can be read and fits, else text and calls."""
    ids = tuple(call.id for call in turn.calls)
    if turn.opaque is not None:
        try:
            read = ModelMessagesTypeAdapter.validate_json(turn.opaque)
        except ValidationError:
            read = []
        for message in read:
            if isinstance(message, ModelResponse) and len(message.tool_calls) == len(ids):
                return renamed(message, ids)
    parts: list[ModelResponsePart] = [TextPart(sound(turn.text))] if turn.text else []
    parts += [ToolCallPart(wire_name(call.tool), _arguments(call), call.id) for call in turn.calls]
    return ModelResponse(parts=parts)


def _arguments(call: ToolCall) -> str | dict[str, object]:
    raw = call.arguments.get(MALFORMED)
    return raw if isinstance(raw, str) else dict(call.arguments)


def _returned(call: ToolCall, ended: Mapping[CallId, CallEnded], *, may_be_open: bool) -> ToolReturnPart:
    entry = ended.get(call.id)
    if entry is not None:
        return ToolReturnPart(wire_name(call.tool), _content(entry.parts), call.id, outcome=_outcome(entry.ending))
    if not may_be_open:
        raise ModelError(f"the model was asked for a turn while its call of `{call.tool}` has no result yet")
    return ToolReturnPart(wire_name(call.tool), LEFT_OPEN, call.id, outcome="interrupted")


def _content(parts: tuple[Part, ...]) -> str | list[str | BinaryContent]:
    contents = [_part(part) for part in parts]
    texts = [content for content in contents if isinstance(content, str)]
    if len(texts) == len(contents):
        return "\n".join(texts)
    return contents


def _part(part: Part) -> str | BinaryContent:
    shown = plain(part)
    if isinstance(shown, StoredText):
        return sound(shown.text)
    try:
        return BinaryContent(base64.b64decode(shown.data, validate=True), media_type=shown.media_type)
    except binascii.Error:
        return f"[an image ({shown.media_type}) that cannot be read]"


def _outcome(ending: Ending) -> Literal["success", "failed", "denied", "interrupted"]:
    match ending:
        case Ending.DONE:
            return "success"
        case Ending.FAILED:
            return "failed"
        case Ending.DENIED_BY_RULE | Ending.DENIED_BY_PERSON | Ending.NOBODY_COULD_BE_ASKED | Ending.NOBODY_ANSWERED:
            return "denied"
        case Ending.INTERRUPTED | Ending.CANCELLED:
            return "interrupted"
        case _:
            assert_never(ending)
