"""From another server's result to what is passed on: bounded, cleaned, and its URIs as they are offered here."""

import base64
import binascii
import json
from collections.abc import Iterable
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

from mcp_server.parts import AudioPart, BytesResource, ImagePart, LinkPart, Marks, Part, TextPart, TextResource
from mcp_server.protocol.blocks import marks_of
from mcp_server.protocol.upstream.addresses import fit, offered_uri
from mcp_server.protocol.upstream.cleaning import cleaned, in_line
from mcp_server.tools.foreign import Received
from mcp_server.tools.plain_parts import size_of

MOST_PARTS = 200
"""Of one result; the rest is counted."""

LARGEST_BYTES = 5 * 1024 * 1024
"""Of base64 in one part: about what models take of a picture."""

MOST_BYTES = 16 * 1024 * 1024
"""Of base64 in one result: as much as one message of a program may hold."""

LARGEST_STRUCTURE = 256 * 1024
"""Bytes of structured content as JSON. A host shows all of it to its model."""

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")

LONGEST_KIND = 80
LONGEST_NAME = 200
LONGEST_DESCRIPTION = 1000
"""Characters of a media type, of what a resource is called, and of what is said of it."""


def received(result: CallToolResult, server: str) -> Received:
    """The result as it is passed on."""
    parts = parts_of(result.content, server)
    structured, note = _structured(result.structured_content)
    if note:
        parts.append(TextPart(text=note))
    if structured is not None and not parts:
        parts.append(TextPart(text=cleaned(json.dumps(structured, ensure_ascii=False))))
    return Received(parts=tuple(parts) or (TextPart(text=""),), structured=structured, failed=bool(result.is_error))


def parts_of(content: Iterable[ContentBlock], server: str) -> list[Part]:
    """Of one result: what is too much of it is told in words."""
    blocks = list(content)
    parts, room = list[Part](), MOST_BYTES
    for block in blocks[:MOST_PARTS]:
        part = _part(block, server)
        if isinstance(part, ImagePart | AudioPart | BytesResource):
            room -= len(part.data)
            part = part if room >= 0 else _left_out(part.media_type, part.data, part.marks)
        parts.append(part)
    left = len(blocks) - MOST_PARTS
    return [*parts, TextPart(text=f"[{left} more parts of the result were left out]")] if left > 0 else parts


def _structured(content: Any) -> tuple[dict[str, Any] | None, str]:
    if content is None:
        return None, ""
    if not isinstance(content, dict):
        return None, f"[structured content: {cleaned(json.dumps(content, ensure_ascii=False))[:LARGEST_STRUCTURE]}]"
    size = len(json.dumps(content))
    if size > LARGEST_STRUCTURE:
        return None, f"[structured content of {size:,} bytes was left out; {LARGEST_STRUCTURE:,} are passed on at most]"
    return content, ""  # pyright: ignore[reportUnknownVariableType] - JSON


def _part(block: ContentBlock, server: str) -> Part:
    marks = marks_of(block.annotations)
    match block:
        case TextContent(text=text):
            return TextPart(text=cleaned(text), marks=marks)
        case ImageContent(data=data, mime_type=kind):
            if kind not in PICTURES:
                return _left_out(kind, data, marks)
            return _whole(data, kind, marks) or ImagePart(data=data, media_type=kind, marks=marks)
        case AudioContent(data=data, mime_type=kind):
            return _whole(data, kind, marks) or AudioPart(data=data, media_type=in_line(kind, LONGEST_KIND), marks=marks)
        case ResourceLink():
            return _link(block, server, marks)
        case EmbeddedResource(resource=resource):
            return contents(resource, server, marks)
        case _:
            assert_never(block)


def contents(resource: TextResourceContents | BlobResourceContents, server: str, marks: Marks | None = None) -> Part:
    """What a resource holds; in words, where its URI or its bytes cannot be passed on."""
    uri, kind = resource.uri, in_line(resource.mime_type or "", LONGEST_KIND)
    if isinstance(resource, TextResourceContents):
        text = cleaned(resource.text)
        if not fit(uri):
            return TextPart(text=f"[resource {in_line(uri, LONGEST_NAME)}]\n{text}", marks=marks)
        return TextResource(uri=offered_uri(server, uri), media_type=kind, text=text, marks=marks)
    if not fit(uri):
        return _left_out(kind or "bytes", resource.blob, marks)
    whole = _whole(resource.blob, kind or "bytes", marks)
    return whole or BytesResource(uri=offered_uri(server, uri), media_type=kind, data=resource.blob, marks=marks)


def _link(block: ResourceLink, server: str, marks: Marks | None) -> Part:
    name, about = in_line(block.name, LONGEST_NAME), in_line(block.description or "", LONGEST_DESCRIPTION)
    if not fit(block.uri):
        return TextPart(text=f"[resource {name}: {in_line(block.uri, LONGEST_NAME)}{f' ({about})' if about else ''}]", marks=marks)
    return LinkPart(
        uri=offered_uri(server, block.uri),
        name=name,
        title=in_line(block.title or "", LONGEST_NAME),
        description=about,
        media_type=in_line(block.mime_type or "", LONGEST_KIND),
        size=block.size if block.size is not None and block.size >= 0 else None,
        marks=marks,
    )


def _whole(data: str, kind: str, marks: Marks | None) -> TextPart | None:
    """None: it is base64 that can be passed on. Else why not."""
    if len(data) > LARGEST_BYTES:
        return _left_out(kind, data, marks)
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return TextPart(text=f"[{in_line(kind, LONGEST_KIND)} that cannot be read]", marks=marks)
    return None


def _left_out(kind: str, data: str, marks: Marks | None) -> TextPart:
    return TextPart(text=f"[{in_line(kind, LONGEST_KIND)}, {size_of(data):,} bytes, not passed on]", marks=marks)
