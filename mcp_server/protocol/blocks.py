"""Parts of results as the protocol has them, both ways, with what their makers say of them."""

from typing import assert_never

from mcp_types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from mcp_server.parts import AudioPart, BytesResource, ImagePart, LinkPart, Marks, Part, TextPart, TextResource


def block_of(part: Part) -> ContentBlock:
    """The part as a client gets it."""
    marks = annotations_of(part.marks)
    match part:
        case TextPart(text=text):
            return TextContent(type="text", text=text, annotations=marks)
        case ImagePart(data=data, media_type=kind):
            return ImageContent(type="image", data=data, mime_type=kind, annotations=marks)
        case AudioPart(data=data, media_type=kind):
            return AudioContent(type="audio", data=data, mime_type=kind, annotations=marks)
        case TextResource() | BytesResource():
            return EmbeddedResource(type="resource", resource=contents_of(part), annotations=marks)
        case LinkPart():
            return ResourceLink(
                type="resource_link",
                uri=part.uri,
                name=part.name,
                title=part.title or None,
                description=part.description or None,
                mime_type=part.media_type or None,
                size=part.size,
                annotations=marks,
            )
        case _:
            assert_never(part)


def contents_of(part: TextResource | BytesResource) -> TextResourceContents | BlobResourceContents:
    """What the resource holds."""
    match part:
        case TextResource(uri=uri, media_type=kind, text=text):
            return TextResourceContents(uri=uri, mime_type=kind or None, text=text)
        case BytesResource(uri=uri, media_type=kind, data=data):
            return BlobResourceContents(uri=uri, mime_type=kind or None, blob=data)
        case _:
            assert_never(part)


def annotations_of(marks: Marks | None) -> Annotations | None:
    """What is said of it, as the protocol has it."""
    if marks is None:
        return None
    return Annotations(audience=list(marks.audience) or None, priority=marks.priority, last_modified=marks.modified or None)


def marks_of(said: Annotations | None, longest: int = 40) -> Marks | None:
    """What a server says of a part. `longest`: characters of a time; a longer one, or one with anything but letters in it, is none."""
    if said is None:
        return None
    modified = said.last_modified or ""
    return Marks(
        audience=tuple(said.audience or ()),
        priority=said.priority,
        modified=modified if len(modified) <= longest and modified.isascii() and modified.isprintable() else "",
    )
