"""From another server's result to what is passed on: text and pictures, bounded; everything else in words."""

import base64
import binascii
import json
from typing import Any, assert_never

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from mcp_server.protocol.upstream.cleaning import cleaned, in_line
from mcp_server.records import ImagePart, Part, TextPart
from mcp_server.tools.foreign import Received

MOST_PARTS = 200
"""Of one result; the rest is counted."""

LARGEST_IMAGE = 5 * 1024 * 1024
"""Bytes of base64, about what models take."""

LARGEST_STRUCTURE = 256 * 1024
"""Bytes of structured content as JSON. A host shows all of it to its model."""

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def received(result: CallToolResult) -> Received:
    """The result as it is passed on."""
    parts = [_part(block) for block in result.content[:MOST_PARTS]]
    left = len(result.content) - MOST_PARTS
    if left > 0:
        parts.append(TextPart(text=f"[{left} more parts of the result were left out]"))
    structured, note = _structured(result.structured_content)
    if note:
        parts.append(TextPart(text=note))
    if structured is not None and not parts:
        parts.append(TextPart(text=cleaned(json.dumps(structured, ensure_ascii=False))))
    return Received(parts=tuple(parts) or (TextPart(text=""),), structured=structured, failed=bool(result.is_error))


def _structured(content: Any) -> tuple[dict[str, Any] | None, str]:
    if content is None:
        return None, ""
    if not isinstance(content, dict):
        return None, f"[structured content: {cleaned(json.dumps(content, ensure_ascii=False))[:LARGEST_STRUCTURE]}]"
    size = len(json.dumps(content))
    if size > LARGEST_STRUCTURE:
        return None, f"[structured content of {size:,} bytes was left out; {LARGEST_STRUCTURE:,} are passed on at most]"
    return content, ""  # pyright: ignore[reportUnknownVariableType] - JSON


def _part(block: ContentBlock) -> Part:
    match block:
        case TextContent(text=text):
            return TextPart(text=cleaned(text))
        case ImageContent(data=data, mime_type=kind):
            return _picture(data, kind)
        case AudioContent(data=data, mime_type=kind):
            return TextPart(text=f"[{in_line(kind, 80)}, {len(data) * 3 // 4:,} bytes, not passed on]")
        case ResourceLink():
            about = in_line(block.description or block.title or "", 300)
            return TextPart(text=f"[resource {in_line(block.name, 100)}: {in_line(str(block.uri), 500)}{f' ({about})' if about else ''}]")
        case EmbeddedResource(resource=resource):
            return TextPart(text=_resource(resource))
        case _:
            assert_never(block)


def _picture(data: str, kind: str) -> Part:
    if kind not in PICTURES or len(data) > LARGEST_IMAGE:
        return TextPart(text=f"[{in_line(kind, 80)}, {len(data) * 3 // 4:,} bytes, not passed on]")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return TextPart(text=f"[{kind} that cannot be read]")
    return ImagePart(data=data, media_type=kind)


def _resource(resource: TextResourceContents | BlobResourceContents) -> str:
    head = f"[resource {in_line(str(resource.uri), 500)}]"
    if isinstance(resource, TextResourceContents):
        return f"{head}\n{cleaned(resource.text)}"
    return f"{head} {in_line(resource.mime_type or 'of bytes', 80)}, {len(resource.blob) * 3 // 4:,} bytes, not passed on"
