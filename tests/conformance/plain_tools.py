"""The tools that the suite asks for beside tasks: every kind of content, progress, logs, and what a server may ask its client for."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)

from mcp_server.protocol.calls import Request
from tests.conformance.forms import DEFAULTS, ENUMS, PERSON

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

STEP = 0.05
"""Seconds between two of several messages, as the suite wants it."""

Handler = Callable[[Request, CallToolRequestParams], Awaitable[HandlerResult]]


def said(*content: ContentBlock | str, is_error: bool = False) -> CallToolResult:
    """A result of these blocks."""
    return CallToolResult(content=[TextContent(text=one) if isinstance(one, str) else one for one in content], is_error=is_error)


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    """A resource inside a result."""
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


async def _text(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    return said("This is a simple text response for testing.")


async def _image(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    return said(ImageContent(data=PIXEL, mime_type="image/png"))


async def _audio(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    return said(AudioContent(data=SILENCE, mime_type="audio/wav"))


async def _embedded(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    return said(embedded("test://embedded-resource", "This is an embedded resource content."))


async def _mixed(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    held = embedded("test://mixed-content-resource", json.dumps({"test": "data", "value": 123}), "application/json")
    return said("Multiple content types test:", ImageContent(data=PIXEL, mime_type="image/png"), held)


async def _error(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    return said("This tool intentionally returns an error for testing", is_error=True)


async def _logging(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    for place, text in enumerate(("Tool execution started", "Tool processing data", "Tool execution completed")):
        if place:
            await anyio.sleep(STEP)
        await ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated] - the suite asks for it
    return said("logged")


async def _progress(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, total=100)
        await anyio.sleep(STEP)
    return said("done")


async def _sampling(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    prompt = str((params.arguments or {}).get("prompt", ""))
    messages = [SamplingMessage(role="user", content=TextContent(text=prompt))]
    answer = await ctx.session.create_message(messages, max_tokens=100, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated] - the suite asks for it
    return said(f"LLM response: {answer.content.text if isinstance(answer.content, TextContent) else ''}")


def _eliciting(schema: Mapping[str, Any], words: str) -> Handler:
    async def elicit(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
        message = str((params.arguments or {}).get("message", "Please fill in the form"))
        answer = await ctx.session.elicit_form(message, dict(schema), related_request_id=ctx.request_id)
        return said(f"{words}: action={answer.action}, content={json.dumps(answer.content)}")

    return elicit


async def _needs_sampling(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "needs sampling", {"requiredCapabilities": {"sampling": {}}})
    return said("the client samples")


PLAIN: Mapping[str, Handler] = {
    "test_simple_text": _text,
    "test_image_content": _image,
    "test_audio_content": _audio,
    "test_embedded_resource": _embedded,
    "test_multiple_content_types": _mixed,
    "test_error_handling": _error,
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_sampling": _sampling,
    "test_elicitation": _eliciting(PERSON, "User response"),
    "test_elicitation_sep1034_defaults": _eliciting(DEFAULTS, "Elicitation completed"),
    "test_elicitation_sep1330_enums": _eliciting(ENUMS, "Elicitation completed"),
    "test_missing_capability": _needs_sampling,
    "test_custom_headers": _text,
    "json_schema_2020_12_tool": _text,
}

_WIDE_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}

SCHEMAS: Mapping[str, dict[str, Any]] = {"json_schema_2020_12_tool": _WIDE_SCHEMA, "test_custom_headers": _HEADER_SCHEMA}
"""Of the tools whose schema matters to the suite."""


def listed(names: Mapping[str, object]) -> list[Tool]:
    """As `tools/list` shows them."""
    return [Tool(name=name, description="See the suite.", input_schema=SCHEMAS.get(name, {"type": "object"})) for name in names]
