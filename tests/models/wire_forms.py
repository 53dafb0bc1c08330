"""How each provider writes the same few answers on the wire, whole and in pieces."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import JSONResponse, Response

from tests.models.wire_server import events

Call = tuple[str, str, Any]
"""Id, tool, arguments: a dict, or a text that is no JSON object."""

READ = 40
WRITTEN = 20
PLAIN = 30
OUT = 7
"""Tokens that every answer is counted with: read from the cache, written into it (where that is counted), plain, and given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One answer, whoever gives it."""

    text: str = ""
    calls: Sequence[Call] = ()
    refused: bool = False


class Form(Protocol):
    """One provider's wire format."""

    provider: str
    model: str
    """One whose price is known."""
    suffix: str
    """What follows the server's address in `base_url`."""

    def answer(self, given: Given, *, stream: bool) -> Response: ...

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Response: ...


def raw(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


# ---- Anthropic -----------------------------------------------------------------------------------


class Anthropic:
    provider = "anthropic"
    model = "claude-sonnet-5"
    suffix = ""

    def answer(self, given: Given, *, stream: bool) -> Response:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": given.text}] if given.text else []
        blocks += [{"type": "tool_use", "id": id, "name": tool, "input": arguments} for id, tool, arguments in given.calls]
        reason = "refusal" if given.refused else "tool_use" if given.calls else "end_turn"
        usage = {"input_tokens": PLAIN, "cache_read_input_tokens": READ, "cache_creation_input_tokens": WRITTEN, "output_tokens": OUT}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "stop_sequence": None}
        if not stream:
            return JSONResponse({**message, "content": blocks, "stop_reason": reason, "usage": usage})
        sent: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}}
        ]
        for index, block in enumerate(blocks):
            sent += self._pieces(index, block)
        sent.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": OUT}})
        return events([*sent, {"type": "message_stop"}], named=True)

    def _pieces(self, index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
        whole = block["text"] if block["type"] == "text" else raw(block["input"])
        empty: dict[str, Any] = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        kind, name = ("text_delta", "text") if block["type"] == "text" else ("input_json_delta", "partial_json")
        deltas = [
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}}
            for piece in (whole[:5], whole[5:])
            if piece
        ]
        return [
            {"type": "content_block_start", "index": index, "content_block": empty},
            *deltas,
            {"type": "content_block_stop", "index": index},
        ]

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Response:
        kind = "rate_limit_error" if status == 429 else "invalid_request_error"
        return JSONResponse({"type": "error", "error": {"type": kind, "message": message}}, status_code=status, headers=dict(headers))


# ---- OpenAI: chat completions --------------------------------------------------------------------


class OpenAIChat:
    provider = "openai"
    model = "gpt-5-mini"
    suffix = "/v1"

    def answer(self, given: Given, *, stream: bool) -> Response:
        calls = [
            {"index": place, "id": id, "type": "function", "function": {"name": tool, "arguments": raw(arguments)}}
            for place, (id, tool, arguments) in enumerate(given.calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": None if given.refused else given.text or None}
        if given.refused:
            message["refusal"] = given.text
        if calls:
            message["tool_calls"] = calls
        reason = "tool_calls" if calls else "stop"
        total = PLAIN + READ + WRITTEN
        usage = {
            "prompt_tokens": total,
            "completion_tokens": OUT,
            "total_tokens": total + OUT,
            "prompt_tokens_details": {"cached_tokens": READ},
        }
        base: dict[str, Any] = {"id": "chatcmpl-1", "created": 1_760_000_000, "model": self.model}
        if not stream:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return JSONResponse({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunk = {**base, "object": "chat.completion.chunk"}
        pieces: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in _deltas(message, calls)]
        pieces.append({"index": 0, "delta": {}, "finish_reason": reason})
        return events([*({**chunk, "choices": [piece]} for piece in pieces), {**chunk, "choices": [], "usage": usage}], end="[DONE]")

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Response:
        return JSONResponse({"error": {"message": message, "type": "error", "code": None}}, status_code=status, headers=dict(headers))


def _deltas(message: dict[str, Any], calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if message.get("refusal"):
        deltas.append({"refusal": message["refusal"]})
    if text := message["content"]:
        deltas += [{"content": text[:4]}, {"content": text[4:]}]
    for call in calls:
        whole = call["function"]["arguments"]
        deltas.append({"tool_calls": [{**call, "function": {"name": call["function"]["name"], "arguments": whole[:3]}}]})
        deltas.append({"tool_calls": [{"index": call["index"], "function": {"arguments": whole[3:]}}]})
    return deltas


class Ollama(OpenAIChat):
    provider = "ollama"
    model = "llama3.2:3b"


class Compatible(OpenAIChat):
    provider = "lab"
    model = "small"


# ---- OpenAI: responses ---------------------------------------------------------------------------


class OpenAIResponses:
    provider = "openai-responses"
    model = "gpt-5-mini"
    suffix = "/v1"

    def answer(self, given: Given, *, stream: bool) -> Response:
        items: list[dict[str, Any]] = []
        if given.text:
            part: dict[str, Any] = (
                {"type": "refusal", "refusal": given.text}
                if given.refused
                else {"type": "output_text", "text": given.text, "annotations": []}
            )
            items.append({"type": "message", "id": "item_0", "role": "assistant", "status": "completed", "content": [part]})
        for id, tool, arguments in given.calls:
            call = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": tool, "status": "completed"}
            items.append({**call, "arguments": raw(arguments)})
        total = PLAIN + READ + WRITTEN
        whole: dict[str, Any] = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_760_000_000,
            "status": "completed",
            "model": self.model,
            "output": items,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": total,
                "input_tokens_details": {"cached_tokens": READ, "cache_write_tokens": 0},
                "output_tokens": OUT,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": total + OUT,
            },
        }
        if not stream:
            return JSONResponse(whole)
        sent: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
        ]
        for place, item in enumerate(items):
            sent += _item_events(place, item)
        sent.append({"type": "response.completed", "response": whole})
        return events([{**item, "sequence_number": number} for number, item in enumerate(sent)], named=True)

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Response:
        return OpenAIChat().error(status, message, headers)


def _item_events(place: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    at: dict[str, Any] = {"output_index": place, "item_id": item["id"]}
    if item["type"] == "function_call":
        whole = item["arguments"]
        return [
            {"type": "response.output_item.added", "output_index": place, "item": {**item, "arguments": "", "status": "in_progress"}},
            {"type": "response.function_call_arguments.delta", **at, "delta": whole[:3]},
            {"type": "response.function_call_arguments.delta", **at, "delta": whole[3:]},
            {"type": "response.function_call_arguments.done", **at, "arguments": whole, "name": item["name"]},
            {"type": "response.output_item.done", "output_index": place, "item": item},
        ]
    part = item["content"][0]
    inside = {**at, "content_index": 0}
    refused = part["type"] == "refusal"
    said = part["refusal"] if refused else part["text"]
    kind = "refusal" if refused else "output_text"
    last: dict[str, Any] = {"refusal": said} if refused else {"text": said, "logprobs": []}
    empty = {**part, "refusal": ""} if refused else {**part, "text": ""}
    return [
        {"type": "response.output_item.added", "output_index": place, "item": {**item, "content": [], "status": "in_progress"}},
        {"type": "response.content_part.added", **inside, "part": empty},
        {"type": f"response.{kind}.delta", **inside, "delta": said[:4], "logprobs": []},
        {"type": f"response.{kind}.delta", **inside, "delta": said[4:], "logprobs": []},
        {"type": f"response.{kind}.done", **inside, **last},
        {"type": "response.content_part.done", **inside, "part": part},
        {"type": "response.output_item.done", "output_index": place, "item": item},
    ]


# ---- Google --------------------------------------------------------------------------------------


class Google:
    provider = "google"
    model = "gemini-2.5-flash"
    suffix = ""

    def answer(self, given: Given, *, stream: bool) -> Response:
        parts: list[dict[str, Any]] = [{"text": given.text}] if given.text and not given.refused else []
        parts += [{"functionCall": {"id": id, "name": tool, "args": arguments}} for id, tool, arguments in given.calls]
        total = PLAIN + READ + WRITTEN
        usage = {
            "promptTokenCount": total,
            "cachedContentTokenCount": READ,
            "candidatesTokenCount": OUT,
            "totalTokenCount": total + OUT,
        }
        base = {"modelVersion": self.model, "responseId": "r1"}
        reason = "SAFETY" if given.refused else "STOP"
        if not stream:
            candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
            return JSONResponse({**base, "candidates": [candidate], "usageMetadata": usage})
        chunks: list[dict[str, Any]] = [
            {**base, "candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}]}
            for part in parts
            for piece in _split(part)
        ]
        chunks.append(
            {
                **base,
                "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason, "index": 0}],
                "usageMetadata": usage,
            }
        )
        return events(chunks)

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Response:
        kind = "RESOURCE_EXHAUSTED" if status == 429 else "INVALID_ARGUMENT"
        return JSONResponse({"error": {"code": status, "message": message, "status": kind}}, status_code=status, headers=dict(headers))


def _split(part: dict[str, Any]) -> list[dict[str, Any]]:
    text = part.get("text")
    return [{"text": text[:4]}, {"text": text[4:]}] if text else [part]


FORMS: tuple[Form, ...] = (Anthropic(), OpenAIChat(), OpenAIResponses(), Google(), Ollama(), Compatible())
