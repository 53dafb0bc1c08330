"""What results are made of, as it is stored and passed on: text, pictures, sound, and what resources of other servers hold or are called.

A closed union, told apart by `kind`, as in `records`.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What whoever made a part of a result says of it, for hosts: claims, and no ground for a decision."""

    audience: tuple[Literal["user", "assistant"], ...] = ()
    """Empty: nothing is said."""
    priority: float | None = None
    """From 0 to 1."""
    modified: str = ""
    """ISO 8601, as it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Text."""

    kind: Literal["text"] = "text"
    text: str
    marks: Marks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePart:
    """An image, base64."""

    kind: Literal["image"] = "image"
    media_type: str
    data: str
    marks: Marks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioPart:
    """Sound, base64. No model that Remit runs is given it."""

    kind: Literal["audio"] = "audio"
    media_type: str
    data: str
    marks: Marks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextResource:
    """What a resource of another server holds, where that is text."""

    kind: Literal["text resource"] = "text resource"
    uri: str
    """As it is offered here. So with the others."""
    media_type: str
    """Empty: nobody says."""
    text: str
    marks: Marks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesResource:
    """The same, where it is anything else: base64."""

    kind: Literal["bytes resource"] = "bytes resource"
    uri: str
    media_type: str
    data: str
    marks: Marks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPart:
    """A resource of another server that can be read."""

    kind: Literal["link"] = "link"
    uri: str
    name: str
    title: str = ""
    description: str = ""
    media_type: str = ""
    size: int | None = None
    """Bytes, as its server says."""
    marks: Marks | None = None


Part = TextPart | ImagePart | AudioPart | TextResource | BytesResource | LinkPart
