"""`apply_patch`: add, change, move and delete several files together, or none of them."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.opening import Place, in_words, look
from mcp_server.tools.patch.landing import carry_out, remove_folders
from mcp_server.tools.patch.planning import Planned, asked, plan
from mcp_server.tools.patch.preparing import Ready, place_in, prepared
from mcp_server.tools.patch.telling import told
from mcp_server.tools.paths import refuse_unless_judged
from mcp_server.tools.replacement import LARGEST, held, make_folders
from mcp_server.tools.stamps import remember, stamp


class ApplyPatchArguments(BaseModel):
    """The patch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    patchText: str = Field(max_length=LARGEST, description="The whole patch, from `*** Begin Patch` to `*** End Patch`")


class ApplyPatchTool:
    """Changes files as one patch says."""

    spec = ToolSpec(
        name="apply_patch",
        title="Apply a patch",
        description=(
            "Changes several files at once, all or none. patchText is `*** Begin Patch`, then one section a file, then `*** End "
            "Patch`. Sections: `*** Add File: path` and the content, each line with a + before it (the file must not exist); `*** "
            "Delete File: path`; `*** Update File: path`, optionally `*** Move to: new path` on the next line, then hunks. A hunk is a "
            "line `@@`, or `@@ ` and a line of the file that stands before the place (`@@ def f():`; several narrow it down), then "
            "lines that stay (a space before them), go (-) or come (+). Give about three lines that stay around each change, as they "
            "are in the file, without line numbers; a hunk that fits several places is refused. Hunks stand in the order of the file. "
            "`*** End of File` after a hunk ties it to the file's end. A hunk of + lines alone goes behind its @@ line, or to the end. "
            "Paths are absolute or relative to the workspace; each file at most once. Read files in this session before you change, "
            "move or delete them. Line ends, byte order mark and mode are kept. For one small change edit is simpler."
        ),
        arguments=ApplyPatchArguments,
        hints=Hints(destructive=True),
    )

    def requests(self, arguments: ApplyPatchArguments, context: ToolContext) -> tuple[Request, ...]:
        """`edit` with every path, `read` with what moves."""
        return asked(plan(arguments.patchText, context.workspace))

    async def run(self, arguments: ApplyPatchArguments, context: ToolContext) -> ToolResult:
        """Apply it."""
        refuse_unless_judged(self, arguments, context)
        planned = plan(arguments.patchText, context.workspace)
        made: list[tuple[str, int]] = []
        try:
            await _make_way(planned, made)
            ready = await _apply(planned, context)
        except BaseException:
            for folder, count in reversed(made):
                remove_folders(folder, count)
            raise
        return ToolResult(parts=(TextPart(text=told(ready, context)),))


async def _make_way(planned: Sequence[Planned], made: list[tuple[str, int]]) -> None:
    """The folders of new files, inside the workspace only; each path that was made on, and how many there, goes into `made`."""
    for one in planned:
        target = one.lands
        if target is None or not target.inside:
            continue
        try:
            count = await make_folders(target.resolved)
        except OSError as error:
            raise ToolFailure(f"{in_words(error, target.text)}; nothing was changed") from error
        made.append((os.path.dirname(target.resolved), count))


async def _apply(planned: Sequence[Planned], context: ToolContext) -> tuple[Ready, ...]:
    folders = {os.path.dirname(path.resolved): path for one in planned for path in (one.path, one.to) if path is not None}
    async with _all_held(folders) as places:
        ready = tuple([await prepared(one, places, context) for one in planned])
        changes = [change for one in ready for change in one.changes]
        try:
            await to_thread.run_sync(carry_out, changes)
        except OSError as error:
            raise ToolFailure(f"{in_words(error, str(error.filename or 'a file'))}; nothing was changed") from error
        for one in ready:
            target = one.planned.lands
            if one.new is not None and target is not None and (found := look(place_in(places, target))) is not None:
                await remember(context, target, stamp(found, one.new))
    return ready


@asynccontextmanager
async def _all_held(folders: dict[str, PathValue]) -> AsyncGenerator[dict[str, Place]]:
    """Each folder open and locked, in one order for everybody, so that no two patches wait for each other."""
    async with AsyncExitStack() as stack:
        places: dict[str, Place] = {}
        for folder, path in sorted(folders.items()):
            try:
                places[folder] = await stack.enter_async_context(held(path.resolved))
            except FileNotFoundError:
                hint = "" if path.inside else "; outside the workspace none is made"
                raise ToolFailure(f"the folder of {path.text} does not exist{hint}. Nothing was changed") from None
            except OSError as error:
                raise ToolFailure(f"{in_words(error, path.text)}; nothing was changed") from error
        yield places
