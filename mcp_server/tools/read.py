"""`read`: a file's text with line numbers, or an image as an image."""

import base64
import difflib
import os

import anyio
from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import ImagePart, TextPart
from mcp_server.tools import pdf
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.kinds import PDF, SNIFFED, Kind, kind_of
from mcp_server.tools.opening import Place, in_words, opened, place_of
from mcp_server.tools.paths import below, locate, path_requests, refuse_unless_among
from mcp_server.tools.stamps import Stamp, remember
from mcp_server.tools.window import MAX_LINES, Scan, Window

MAX_IMAGE = 5 * 1024 * 1024
"""Bytes of an image. The smallest limit of the common providers."""

SMALL = 64 * 1024
"""Bytes of a file that is here sooner than a thread could be asked for it."""

CHUNK = 1024 * 1024
"""Bytes a step; a cancelled read stops after the one it is at."""

MAX_SECONDS = 30
"""A read that goes on longer has lost its way in a huge file."""


class ReadArguments(BaseModel):
    """What to read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filePath: str = Field(description="The file, absolute or relative to the workspace")
    offset: int = Field(default=1, ge=0, le=2**53, description="The line to start at, from 1; in a PDF document the page")
    limit: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES, description="How many lines to read; in a PDF document pages")


class ReadTool:
    """Reads one file; the session may edit it afterwards."""

    spec = ToolSpec(
        name="read",
        title="Read a file",
        description=(
            "Reads a file. Text comes back as numbered lines (`12: text`; the number is not part of the file), at most 2,000 lines "
            "or 50 KiB a call; a longer file says at which offset to go on. Lines over 2,000 characters are cut. PNG, JPEG, GIF and"
            " WebP images come back as images, PDF documents as the text of their pages where this server can read them (offset and "
            "limit count pages); other binary files are refused with their kind. Read a file before you edit or "
            "overwrite it. To find files use glob, to search in them grep, to see a folder list. Several reads may be called at "
            "once."
        ),
        arguments=ReadArguments,
        hints=Hints(read_only=True, destructive=False, idempotent=True),
    )

    def requests(self, arguments: ReadArguments, context: ToolContext) -> tuple[Request, ...]:
        """`read`, with the file."""
        return path_requests("read", locate(arguments.filePath, context.workspace))

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        """Read it."""
        path = locate(arguments.filePath, context.workspace)
        refuse_unless_among(context.judged, path_requests("read", path))
        try:
            with place_of(path.resolved) as place:
                return await _read(place, path, arguments, context)
        except FileNotFoundError:
            raise ToolFailure(missing(path, context)) from None
        except OSError as error:
            raise ToolFailure(in_words(error, path.text)) from error


def missing(path: PathValue, context: ToolContext) -> str:
    """That it is not there, and which readable names beside it are like it."""
    folder, name = os.path.split(path.resolved)
    try:
        names = sorted(os.listdir(folder)) if path.inside else []
    except OSError:
        names = []
    lower = name.lower()
    close = difflib.get_close_matches(lower, [other.lower() for other in names], n=5, cutoff=0.6)
    alike = [other for other in names if other.lower() in close or (len(lower) > 2 and lower in other.lower())][:5]
    shown = _readable_names(alike, path, context)
    hint = f"; did you mean {' or '.join(shown[:3])}?" if shown else "; glob finds files by name"
    return f"{path.text} does not exist{hint}"


def _readable_names(names: list[str], path: PathValue, context: ToolContext) -> list[str]:
    parent = locate(os.path.dirname(path.resolved), context.workspace)
    values = [below(parent, name, context.workspace, ignore_case=path.ignore_case) for name in names]
    return [value.text for value, allowed in zip(values, context.readable(values), strict=True) if allowed]


def small(size: int) -> bool:
    """May a file of that size be read in the event loop? One without any may be a window into the system, which may keep one waiting."""
    return 0 < size <= SMALL


async def _read(place: Place, path: PathValue, arguments: ReadArguments, context: ToolContext) -> ToolResult:
    with opened(place) as (handle, found):
        start = os.read(handle, SNIFFED) if small(found.st_size) else await to_thread.run_sync(os.read, handle, SNIFFED)
        kind = kind_of(start)
        match kind.sort:
            case "image":
                return await _image(handle, start, kind, found.st_size, path)
            case "binary" if kind.name == PDF:
                return await _document(handle, found.st_size, arguments, path, context)
            case "binary":
                raise ToolFailure(f"{path.text} is {kind.name}, {found.st_size:,} bytes; read shows text and images only")
            case "text":
                window = await _scanned(handle, start, found.st_size, arguments, path)
        seen = Stamp(mtime_ns=found.st_mtime_ns, size=found.st_size, inode=found.st_ino, digest=window.digest)
    await remember(context, path, seen)
    return ToolResult(parts=(TextPart(text=_numbered(window, arguments, path)),))


async def _document(handle: int, size: int, arguments: ReadArguments, path: PathValue, context: ToolContext) -> ToolResult:
    pdf.refuse_unless_fit(path.text, size, library=pdf.available())
    os.lseek(handle, 0, os.SEEK_SET)
    first = max(arguments.offset, 1)
    pages = await pdf.read_pages(handle, path.text, context.environment, first=first, count=arguments.limit)
    return ToolResult(parts=(TextPart(text=pdf.paged(pages, path.text, first)),))


async def _image(handle: int, start: bytes, kind: Kind, size: int, path: PathValue) -> ToolResult:
    if size > MAX_IMAGE:
        raise ToolFailure(f"{path.text} is an image ({kind.name}) of {size:,} bytes; images up to {MAX_IMAGE:,} bytes can be shown")
    content = start
    while len(content) <= MAX_IMAGE and (more := await to_thread.run_sync(os.read, handle, CHUNK)):
        content += more
    if len(content) > MAX_IMAGE:
        raise ToolFailure(f"{path.text} grew while it was read; call again")
    text = TextPart(text=f"{path.text}: {kind.name}, {len(content):,} bytes")
    return ToolResult(parts=(text, ImagePart(media_type=kind.name, data=base64.b64encode(content).decode())))


async def _scanned(handle: int, start: bytes, size: int, arguments: ReadArguments, path: PathValue) -> Window:
    scan = Scan(first=max(arguments.offset, 1), limit=arguments.limit, size=size)

    def step() -> bool:
        data = os.read(handle, CHUNK)
        scan.add(data)
        return bool(data)

    scan.add(start)
    at_end = not start
    while small(size) and not at_end and scan.seen <= size:
        at_end = not step()
    if at_end:
        return scan.finish(at_end=True)
    try:
        with anyio.fail_after(MAX_SECONDS):
            while not at_end and not scan.enough:
                at_end = not await to_thread.run_sync(step)
    except TimeoutError:
        raise ToolFailure(f"gave up after {MAX_SECONDS} s in {path.text} ({size:,} bytes); use a smaller offset, or grep") from None
    return scan.finish(at_end=at_end)


def _numbered(window: Window, arguments: ReadArguments, path: PathValue) -> str:
    if not window.lines:
        if window.total == 0:
            return f"({path.text} is empty)"
        raise ToolFailure(f"{path.text} has {window.total} lines; offset {arguments.offset} lies behind its end")
    last = window.first + len(window.lines) - 1
    lines = [f"{number}: {line}" for number, line in enumerate(window.lines, window.first)]
    of = f" of {window.total}" if window.total is not None else ""
    end = f"lines {window.first}-{last}{of}; go on with offset={last + 1}" if window.more else f"end of file, {window.total} lines"
    notes = "".join(f"\n({note})" for note in window.notes)
    return "\n".join(lines) + f"\n\n({end})" + notes
