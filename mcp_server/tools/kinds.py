"""What a file is by its first bytes: text, an image that can be shown, or something else with a name."""

from dataclasses import dataclass
from typing import Literal

SNIFFED = 8192
"""Bytes looked at. A NUL among them means binary, as git and ripgrep have it."""

PDF = "a PDF document"

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

_NAMED = (
    (b"%PDF-", PDF),
    (b"PK\x03\x04", "a ZIP archive (or an office document, jar or wheel)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"(\xb5/\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O program"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x00asm", "a WebAssembly module"),
    (b"\xff\xfe", "UTF-16 text; convert it to UTF-8 to read it"),
    (b"\xfe\xff", "UTF-16 text; convert it to UTF-8 to read it"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """`binary` is everything that is neither text nor an image that hosts can show."""

    sort: Literal["text", "image", "binary"]
    name: str
    """A media type for an image, words for binary, empty for text."""


def kind_of(start: bytes) -> Kind:
    """The kind, from the file's first `SNIFFED` bytes."""
    for magic, media_type in _IMAGES:
        if start.startswith(magic):
            return Kind(sort="image", name=media_type)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return Kind(sort="image", name="image/webp")
    for magic, name in _NAMED:
        if start.startswith(magic) and (b"\0" in start or not magic.isalnum()):
            return Kind(sort="binary", name=name)
    return Kind(sort="binary", name="binary data") if b"\0" in start else Kind(sort="text", name="")
