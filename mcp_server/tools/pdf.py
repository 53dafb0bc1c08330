"""The text of a PDF document, page by page. Read apart: a document is made by anybody, and its readers loop and swell."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from mcp_server.errors import ToolFailure
from mcp_server.tools.apart import apart

SECONDS = 30
"""For the pages of one call."""

LARGEST = 100 * 1024 * 1024
"""Bytes of a document; its reader holds it whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """A part of a document."""

    total: int
    texts: tuple[str, ...]
    """Of the pages that were asked for, as many as may be shown at once."""
    cut: bool
    """The last of them is longer than what is shown."""


def available() -> bool:
    """Is the optional library there?"""
    return find_spec("pypdf") is not None


def refuse_unless_fit(name: str, size: int, *, library: bool) -> None:
    """Raise ToolFailure where the document cannot be read here."""
    if not library:
        raise ToolFailure(f"{name} is a PDF document, {size:,} bytes; a person can have such read here by installing remit[pdf]")
    if size > LARGEST:
        raise ToolFailure(f"{name} is a PDF document of {size:,} bytes; such up to {LARGEST:,} bytes can be read")


async def read_pages(handle: int, name: str, environment: Mapping[str, str], *, first: int, count: int, seconds: float = SECONDS) -> Pages:
    """Pages of an open document. `first` counts from 1.

    Raises:
        ToolFailure: It is encrypted, broken, or not read in time.
    """
    told = await apart(
        "mcp_server.tools.pdf_pages", str(first), str(count), given=handle, seconds=seconds, environment=environment, what=name
    )
    said = json.loads(told)
    if problem := said.get("problem"):
        raise ToolFailure(f"{name}: {problem}")
    return Pages(total=said["total"], texts=tuple(said["texts"]), cut=said["cut"])


def paged(pages: Pages, name: str, first: int) -> str:
    """What a model is shown."""
    if not pages.texts:
        raise ToolFailure(f"{name} has {pages.total} pages; offset {first} lies behind its end")
    last = first + len(pages.texts) - 1
    parts = [f"--- page {number} ---\n{text.strip() or '(no text; perhaps a picture)'}" for number, text in enumerate(pages.texts, first)]
    cut = " (the last one is cut)" if pages.cut else ""
    end = (
        f"pages {first}-{last} of {pages.total}{cut}; go on with offset={last + 1}"
        if last < pages.total
        else f"end, {pages.total} pages{cut}"
    )
    return "\n\n".join((*parts, f"({name}, a PDF document: {end})"))
