"""From pydantic-ai's answer to a stored turn."""

import re

from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from mcp_server.errors import ProviderFailed
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import ModelTurn, Usage
from mcp_server.sessions.models.base import MALFORMED, TurnRequest
from mcp_server.sessions.models.call_ids import call_id
from mcp_server.sessions.models.history import renamed

LONGEST_MALFORMED = 2_000
"""Characters kept of arguments that are no JSON object: enough for the model to see its mistake."""

CUT_OFF = "[cut off: the limit on the length of one answer was reached]"
"""Added to an answer that the provider cut off, so that a part of it does not pass for the whole."""


def turn_of(response: ModelResponse, request: TurnRequest) -> ModelTurn:
    """The turn, its calls under ids that are unlike any other of the session.

    Raises:
        ProviderFailed: The provider held its answer back.
    """
    text = response.text or ""
    parts = response.tool_calls
    if not text and not parts and response.finish_reason == "content_filter":
        raise ProviderFailed("the provider held the answer back: its content filter stopped it")
    if not parts and response.finish_reason == "length":
        text = f"{text}\n{CUT_OFF}" if text else CUT_OFF
    ids = _ids(parts, request)
    calls = tuple(ToolCall(id=id, tool=part.tool_name, arguments=_arguments(part)) for id, part in zip(ids, parts, strict=True))
    usage = Usage(turns=1, input_tokens=response.usage.input_tokens, output_tokens=response.usage.output_tokens, tool_calls=len(calls))
    opaque = ModelMessagesTypeAdapter.dump_json([renamed(response, ids)]).decode()
    return ModelTurn(text=text, calls=calls, model=request.model, usage=usage, opaque=opaque)


def _arguments(part: ToolCallPart) -> dict[str, object]:
    try:
        return part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {MALFORMED: str(part.args)[:LONGEST_MALFORMED]}


def _ids(parts: list[ToolCallPart], request: TurnRequest) -> tuple[CallId, ...]:
    """The provider's ids where they are of use, else new ones."""
    turns = [stored.entry for stored in request.transcript if isinstance(stored.entry, ModelTurn)]
    taken = {call.id for turn in turns for call in turn.calls}
    ids: list[CallId] = []
    for place, part in enumerate(parts):
        id = CallId(part.tool_call_id)
        if id in taken or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id):
            id = call_id(request, place)
        taken.add(id)
        ids.append(id)
    return tuple(ids)
