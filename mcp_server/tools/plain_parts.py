"""Parts of results as a model that Remit runs is given them: text and pictures, and everything else in words."""

from typing import assert_never

from mcp_server.parts import AudioPart, BytesResource, ImagePart, LinkPart, Part, TextPart, TextResource


def plain(part: Part) -> TextPart | ImagePart:
    """The part itself, or what it is in words."""
    match part:
        case TextPart() | ImagePart():
            return part
        case AudioPart(media_type=kind, data=data):
            return TextPart(text=f"[{kind}, {size_of(data):,} bytes, not shown]")
        case TextResource(uri=uri, text=text):
            return TextPart(text=f"[resource {uri}]\n{text}")
        case BytesResource(uri=uri, media_type=kind, data=data):
            return TextPart(text=f"[resource {uri}: {kind or 'bytes'}, {size_of(data):,} bytes, not shown]")
        case LinkPart():
            about = part.description or part.title
            return TextPart(text=f"[resource {part.name}: {part.uri}{f' ({about})' if about else ''}]")
        case _:
            assert_never(part)


def in_words(part: Part) -> str:
    """The part as text alone."""
    shown = plain(part)
    return f"[an image, {shown.media_type}]" if isinstance(shown, ImagePart) else shown.text


def size_of(data: str) -> int:
    """Bytes that so much base64 stands for, about."""
    return len(data) * 3 // 4
