"""`edit`: replace an exact piece of a file's text."""

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.diffs import short_diff
from mcp_server.tools.opening import Place, in_words
from mcp_server.tools.paths import locate, path_requests, refuse_unless_judged
from mcp_server.tools.read import missing
from mcp_server.tools.replacement import LARGEST, Current, current, held, make_folders, put
from mcp_server.tools.replacing import replaced
from mcp_server.tools.stamps import recall, remember, stamp


class EditArguments(BaseModel):
    """What to replace by what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filePath: str = Field(description="The file, absolute or relative to the workspace")
    oldString: str = Field(max_length=LARGEST, description="The exact text to replace, without line numbers; empty creates a new file")
    newString: str = Field(max_length=LARGEST, description="The text to put in its place; must differ from oldString")
    replaceAll: bool = Field(default=False, description="Replace every match, not only a single one")


class EditTool:
    """Changes one file that the session has read."""

    spec = ToolSpec(
        name="edit",
        title="Edit a file",
        description=(
            "Replaces text in a file. oldString must be the exact text, white space and indentation included, without the line "
            "numbers that read shows, and must match exactly once: give as many lines around it as make it unique, or set "
            "replaceAll to change every match. Read the file first in this session; the edit is refused if the file changed since. "
            "Line ends, byte order mark and mode are kept. An empty oldString creates a new file with newString as its content (or "
            "fills an empty one). Returns a short diff. For several edits of one file call edit several times; to replace a whole "
            "file use write."
        ),
        arguments=EditArguments,
        hints=Hints(destructive=True),
    )

    def requests(self, arguments: EditArguments, context: ToolContext) -> tuple[Request, ...]:
        """`edit`, with the file."""
        return path_requests("edit", locate(arguments.filePath, context.workspace))

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        """Change it."""
        refuse_unless_judged(self, arguments, context)
        if arguments.oldString == arguments.newString:
            raise ToolFailure("oldString and newString are the same; nothing was changed")
        path = locate(arguments.filePath, context.workspace)
        try:
            if not arguments.oldString and path.inside:
                await make_folders(path.resolved)
            async with held(path.resolved) as place:
                return await _edit(place, path, arguments, context)
        except FileNotFoundError:
            raise ToolFailure(missing(path, context)) from None
        except OSError as error:
            raise ToolFailure(in_words(error, path.text)) from error


async def refuse_unless_seen(path: PathValue, now: Current, context: ToolContext) -> None:
    """An existing file may only be changed by a session that has seen it as it is.

    Raises:
        ToolFailure: It never read the file, or the file changed since.
    """
    seen = await recall(context, path)
    if seen is None:
        raise ToolFailure(f"{path.text} exists, and this session has not read it; read it first, then change it")
    if not seen.same_as(stamp(now.found, now.content)):
        raise ToolFailure(f"{path.text} changed since this session last read it; nothing was written: read it again, then change it")


def other_names(now: Current | None) -> str:
    """A note on hard links, which part from the file when it is replaced."""
    if now is None or now.found.st_nlink < 2:
        return ""
    return f"\n(the file had {now.found.st_nlink} names, hard links; the others keep the old content)"


async def _edit(place: Place, path: PathValue, arguments: EditArguments, context: ToolContext) -> ToolResult:
    now = await to_thread.run_sync(current, place)
    old = now.content if now is not None else b""
    visible = context.readable([path])[0]
    if arguments.oldString:
        if now is None:
            raise FileNotFoundError(path.resolved)
        await refuse_unless_seen(path, now, context)
        new, count = await to_thread.run_sync(_replaced, old, arguments, visible)
    elif old:
        raise ToolFailure(f"oldString is empty, and {path.text} already has content; use write to replace all of it")
    else:
        new, count = arguments.newString.encode(errors="replace"), 1
    found = await to_thread.run_sync(put, place, new, now)
    await remember(context, path, stamp(found, new))
    diff = f"\n\n{await to_thread.run_sync(short_diff, old, new, path.text)}" if visible else ""
    done = f"created {path.text}" if now is None else f"edited {path.text}, {count} {'place' if count == 1 else 'places'}"
    return ToolResult(parts=(TextPart(text=f"{done}{other_names(now)}{diff}"),))


def _replaced(old: bytes, arguments: EditArguments, visible: bool) -> tuple[bytes, int]:
    edited = replaced(old, arguments.oldString, arguments.newString, everywhere=arguments.replaceAll, hints=visible)
    return edited.content, edited.count
