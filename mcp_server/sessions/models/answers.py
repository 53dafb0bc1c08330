"""From pydantic-ai's answer to a stored turn."""

import json
from dataclasses import replace
from typing import cast

from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from mcp_server.errors import AnswerWithheld
from mcp_server.policy.values import ToolCall
from mcp_server.records import ModelTurn, Usage
from mcp_server.sessions.models.base import CUT_OFF, MALFORMED, TurnRequest
from mcp_server.sessions.models.call_ids import fresh_ids
from mcp_server.sessions.models.history import renamed
from mcp_server.sessions.models.scrub import scrubbed

LONGEST_MALFORMED = 2_000
"""Characters kept of arguments that are no JSON object: enough for the model to see its mistake."""

FILTERED = "[cut off: the provider's content filter stopped the answer here]"
"""The same where its filter did."""


def turn_of(response: ModelResponse, request: TurnRequest, window: int | None = None) -> ModelTurn:
    """The turn, its calls under ids that are unlike any other of the session.

    Args:
        response: The provider's answer.
        request: What it answers.
        window: Tokens that the model can be given, where that is known.

    Raises:
        AnswerWithheld: The provider held its answer back.
    """
    response = _storable(response)
    text = response.text or ""
    parts = response.tool_calls
    if not text and not parts and response.finish_reason == "content_filter":
        raise AnswerWithheld(f"the provider held the answer back: {_refusal(response)}")
    if not parts and (note := _CUT.get(response.finish_reason or "")):
        text = f"{text}\n{note}" if text else note
    ids = fresh_ids([part.tool_call_id for part in parts], request)
    calls = tuple(ToolCall(id=id, tool=part.tool_name, arguments=_arguments(part)) for id, part in zip(ids, parts, strict=True))
    usage = replace(usage_of(response), tool_calls=len(calls))
    opaque = ModelMessagesTypeAdapter.dump_json([renamed(response, ids)]).decode()
    return ModelTurn(text=text, calls=calls, model=request.model, usage=usage, opaque=opaque, window=window)


def _refusal(response: ModelResponse) -> str:
    said = (response.provider_details or {}).get("refusal")
    return f"its model refused: {scrubbed(said, ())}" if isinstance(said, str) and said else "its content filter stopped it"


_CUT = {"length": CUT_OFF, "content_filter": FILTERED}


def usage_of(response: ModelResponse) -> Usage:
    """What one answer took, and its price where that is known."""
    counted = response.usage
    cost = _cost(response)
    return Usage(
        turns=1,
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        cached_tokens=counted.cache_read_tokens,
        cache_written_tokens=counted.cache_write_tokens,
        cost=cost,
        unpriced=0 if cost is not None else 1,
    )


def _cost(response: ModelResponse) -> float | None:
    """US dollars by list price. None: nobody knows the model's price, or the provider did not count."""
    counted = response.usage
    if counted.cost is not None:
        return float(counted.cost)
    if not counted.input_tokens and not counted.output_tokens:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def _storable(response: ModelResponse) -> ModelResponse:
    """Arguments that are neither a map nor a text, which a provider's library may pass on, become a text."""
    parts = [_with_readable(part) if isinstance(part, ToolCallPart) else part for part in response.parts]
    return replace(response, parts=parts)


def _with_readable(part: ToolCallPart) -> ToolCallPart:
    args = cast(object, part.args)  # its declared type is a promise that a provider's answer does not keep
    return part if args is None or isinstance(args, dict | str) else replace(part, args=json.dumps(args, default=str))


def _arguments(part: ToolCallPart) -> dict[str, object]:
    try:
        return part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {MALFORMED: str(part.args)[:LONGEST_MALFORMED]}
