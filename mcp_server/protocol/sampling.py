"""Between a turn that a run asks for and `sampling/createMessage`: what is sent to the client, and what its answer means.

Pure. What comes back is a model's word by way of a client: nothing of it is trusted, and what does not fit is told as that.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import assert_never, cast

from mcp_types import (
    ClientCapabilities,
    ContentBlock,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ImageContent,
    ModelHint,
    ModelPreferences,
    SamplingMessage,
    SamplingMessageContentBlock,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
)
from mcp_types.version import is_version_at_least

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import CallEnded, CallStarted, Compacted, Ending, ModelTurn, Part, TaskGiven, TextPart, Usage
from mcp_server.sessions.condensed import in_view
from mcp_server.sessions.front import Sampling
from mcp_server.sessions.models.asks import ModelAsk, NotSaid, Said, SaidCall
from mcp_server.sessions.models.base import CUT_OFF, MALFORMED, TurnRequest
from mcp_server.sessions.models.wording import LEFT_OPEN, sound, wire_name
from mcp_server.tools.plain_parts import plain

ANSWER_TOKENS = 8_192
"""The longest answer that is asked for where the agent's `max_tokens` says nothing: a file that is written whole fits, and every model
of today gives as much."""

_LONGEST_NAME = 100
"""Characters of a model's name."""
_WITHHELD = frozenset({"refusal", "content_filter", "contentFilter"})
"""Stop reasons with which an answer is held back. The specification names none; these are providers' own words."""


def lent(capabilities: ClientCapabilities | None, version: str) -> Sampling:
    """What this very request declares. Before 2025-11-25 no model of a client's could be given tools."""
    declared = None if capabilities is None else capabilities.sampling
    if declared is None:
        return Sampling.NONE
    return Sampling.TOOLS if declared.tools is not None and is_version_at_least(version, "2025-11-25") else Sampling.TEXT


# ---- what is sent -------------------------------------------------------------------------------


def request_of(ask: ModelAsk) -> CreateMessageRequest:
    """The whole conversation, as a client's model is to see it."""
    request = ask.request
    most = request.options.get("max_tokens")
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=_messages(request),
            system_prompt=sound(request.system) or None,
            max_tokens=most if isinstance(most, int) and most > 0 else ANSWER_TOKENS,
            temperature=request.temperature,
            model_preferences=None if ask.hint is None else ModelPreferences(hints=[ModelHint(name=ask.hint)]),
            tools=[Tool(name=tool.name, description=tool.description, input_schema=tool.schema) for tool in request.tools] or None,
        )
    )


def _messages(request: TurnRequest) -> list[SamplingMessage]:
    condensed, shown = in_view(request.transcript)
    ended = {stored.entry.call_id: stored.entry for stored in shown if isinstance(stored.entry, CallEnded)}
    messages = [_text("user", condensed)] if condensed else []
    for stored in shown:
        match stored.entry:
            case TaskGiven(text=text):
                messages.append(_text("user", text))
            case ModelTurn() as turn:
                messages += _exchange(turn, ended)
            case CallStarted() | CallEnded() | Compacted():
                pass
            case _:
                assert_never(stored.entry)
    return messages


def _text(role: str, text: str) -> SamplingMessage:
    return SamplingMessage(role="assistant" if role == "assistant" else "user", content=TextContent(text=sound(text)))


def _exchange(turn: ModelTurn, ended: Mapping[CallId, CallEnded]) -> list[SamplingMessage]:
    """What the model said, and the results of its calls: a message of results holds nothing else."""
    said: list[SamplingMessageContentBlock] = [TextContent(text=sound(turn.text))] if turn.text else []
    said += [ToolUseContent(name=wire_name(call.tool), id=call.id, input=_arguments(call)) for call in turn.calls]
    results: list[SamplingMessageContentBlock] = [_result(call, ended.get(call.id)) for call in turn.calls]
    spoken = [SamplingMessage(role="assistant", content=said)] if said else []
    return [*spoken, SamplingMessage(role="user", content=results)] if results else spoken


def _arguments(call: ToolCall) -> dict[str, object]:
    raw = call.arguments.get(MALFORMED)
    return {"malformed": raw} if raw is not None else dict(call.arguments)


def _result(call: ToolCall, entry: CallEnded | None) -> ToolResultContent:
    parts: Sequence[Part] = (TextPart(text=LEFT_OPEN),) if entry is None else entry.parts
    done = entry is not None and entry.ending is Ending.DONE
    return ToolResultContent(tool_use_id=call.id, content=[_block(part) for part in parts], is_error=None if done else True)


def _block(part: Part) -> ContentBlock:
    shown = plain(part)
    if isinstance(shown, TextPart):
        return TextContent(text=sound(shown.text))
    try:
        base64.b64decode(shown.data, validate=True)
    except binascii.Error:
        return TextContent(text=f"[an image ({shown.media_type}) that cannot be read]")
    return ImageContent(data=shown.data, mime_type=shown.media_type)


# ---- what comes back ----------------------------------------------------------------------------


def said_by(result: object) -> Said | NotSaid:
    """What a client's answer means. What is no turn of a model's is told as that, in words."""
    if not isinstance(result, CreateMessageResult | CreateMessageResultWithTools):
        return NotSaid(reason="the client answered the question for its model's turn with something else")
    if result.role != "assistant":
        return NotSaid(reason=f"the client's answer is not its model's: it has the role `{result.role}`")
    blocks = result.content if isinstance(result.content, list) else [result.content]
    odd = sorted({block.type for block in blocks if not isinstance(block, TextContent | ToolUseContent)})
    if odd:
        return NotSaid(reason=f"the client's answer holds what no model's turn may: {', '.join(odd)}")
    calls = tuple(SaidCall(id=use.id, tool=use.name, arguments=use.input) for use in blocks if isinstance(use, ToolUseContent))
    text = "\n".join(block.text for block in blocks if isinstance(block, TextContent) and block.text)
    flaw = _flaw(text, calls, result.stop_reason)
    if flaw is not None:
        return flaw
    if result.stop_reason == "maxTokens" and not calls:
        text = f"{text}\n{CUT_OFF}" if text else CUT_OFF
    return Said(text=sound(text), calls=calls, model=_name(result.model), usage=_usage(result.meta))


def _flaw(text: str, calls: Sequence[SaidCall], stop: str | None) -> NotSaid | None:
    if stop in _WITHHELD:
        return NotSaid(reason="the client's own model refused to answer", withheld=True)
    if stop == "toolUse" and not calls:
        return NotSaid(reason="the client's answer says that its model wants a tool, and names none")
    if not text and not calls and stop != "maxTokens":
        return NotSaid(reason="the client's answer is empty")
    return None


def _name(text: str) -> str:
    return "".join(char for char in sound(text) if char.isprintable())[:_LONGEST_NAME].strip() or "unnamed"


def _usage(meta: Mapping[str, object] | None) -> Usage:
    """Tokens where the client tells them, as some do beside the answer; no field of the specification holds them."""
    told = (meta or {}).get("usage")
    if not isinstance(told, dict):
        return Usage()
    counts = cast(dict[str, object], told)
    return Usage(
        input_tokens=_count(counts, "input_tokens", "inputTokens", "prompt_tokens"),
        output_tokens=_count(counts, "output_tokens", "outputTokens", "completion_tokens"),
    )


def _count(counts: Mapping[str, object], *names: str) -> int:
    found = (counts.get(name) for name in names)
    return next((count for count in found if isinstance(count, int) and not isinstance(count, bool) and count >= 0), 0)
