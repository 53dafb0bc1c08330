"""`write`: make a file, or replace all of it."""

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.diffs import short_diff
from mcp_server.tools.edit import other_names, refuse_unless_seen
from mcp_server.tools.opening import Place, in_words
from mcp_server.tools.paths import locate, path_requests, refuse_unless_judged
from mcp_server.tools.replacement import LARGEST, current, held, make_folders, put
from mcp_server.tools.stamps import remember, stamp


class WriteArguments(BaseModel):
    """What to write where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filePath: str = Field(description="The file, absolute or relative to the workspace")
    content: str = Field(max_length=LARGEST, description="The whole new content")


class WriteTool:
    """Writes one file whole."""

    spec = ToolSpec(
        name="write",
        title="Write a file",
        description=(
            "Writes a whole file: creates it, with the folders on the way inside the workspace, or replaces all of its content. An "
            "existing file must have been read in this session, and is not overwritten if it changed since. The content is written "
            "exactly as given; the file's mode is kept. To change a part of a file use edit."
        ),
        arguments=WriteArguments,
        hints=Hints(destructive=True, idempotent=True),
    )

    def requests(self, arguments: WriteArguments, context: ToolContext) -> tuple[Request, ...]:
        """`edit`, with the file."""
        return path_requests("edit", locate(arguments.filePath, context.workspace))

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        """Write it."""
        refuse_unless_judged(self, arguments, context)
        path = locate(arguments.filePath, context.workspace)
        try:
            content = arguments.content.encode()
        except UnicodeEncodeError:
            raise ToolFailure("content is not valid Unicode text; nothing was written") from None
        try:
            if path.inside:
                await make_folders(path.resolved)
            async with held(path.resolved) as place:
                return await _write(place, path, content, context)
        except FileNotFoundError:
            raise ToolFailure(f"the folder of {path.text} does not exist; outside the workspace none is made") from None
        except OSError as error:
            raise ToolFailure(in_words(error, path.text)) from error


async def _write(place: Place, path: PathValue, content: bytes, context: ToolContext) -> ToolResult:
    now = await to_thread.run_sync(current, place)
    if now is not None:
        await refuse_unless_seen(path, now, context)
    found = await to_thread.run_sync(put, place, content, now)
    await remember(context, path, stamp(found, content))
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    done = f"{'created' if now is None else 'replaced'} {path.text}: {lines:,} lines, {len(content):,} bytes"
    diff = ""
    if now is not None and context.readable([path])[0]:
        diff = f"\n\n{await to_thread.run_sync(short_diff, now.content, content, path.text)}"
    return ToolResult(parts=(TextPart(text=f"{done}{other_names(now)}{diff}"),))
