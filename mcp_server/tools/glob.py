"""`glob`: find files by name."""

from itertools import islice

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.outputs import shown
from mcp_server.tools.paths import locate, path_requests, refuse_unless_judged
from mcp_server.tools.ripgrep import files
from mcp_server.tools.searching import folder_faults, judged, printable

MAX_FOUND = 1000
"""Files named in one answer; more are of no use to a model."""

MAX_PATTERN = 1000
"""Characters of a pattern."""


class GlobArguments(BaseModel):
    """Which files to find where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str = Field(min_length=1, max_length=MAX_PATTERN, description="Such as `**/*.py`, `src/**/test_*.ts` or `*.{md,txt}`")
    path: str = Field(default=".", description="The folder to search; the workspace if left out")


class GlobTool:
    """Names files, in the order of their names."""

    spec = ToolSpec(
        name="glob",
        title="Find files by name",
        description=(
            "Finds files whose path matches a pattern: `*` within a name, `**` across folders, `?`, `[abc]`, `{a,b}`. A pattern "
            "without a slash matches in every folder below. Ignored files (.gitignore) are left out, hidden ones are found; links "
            "are not followed. Files that the rules do not let you read are left out and counted. Sorted by path, at most 1,000. To"
            " search in what files say use grep."
        ),
        arguments=GlobArguments,
        hints=Hints(read_only=True, destructive=False, idempotent=True),
    )

    def requests(self, arguments: GlobArguments, context: ToolContext) -> tuple[Request, ...]:
        """`glob`, with the folder."""
        return path_requests("glob", locate(arguments.path, context.workspace))

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolResult:
        """Find them."""
        refuse_unless_judged(self, arguments, context)
        refuse_odd_pattern(arguments.pattern, "pattern")
        folder = locate(arguments.path, context.workspace)
        with folder_faults(folder):
            names = await matching_files(folder.resolved, context, arguments.pattern)
        found = await judged(names, folder, context)
        allowed = (value for name in found.names if (value := found.readable(name)) is not None)
        paths = [printable(value.text) for value in islice(allowed, MAX_FOUND)]
        text = "\n".join(paths) or f"no file matches {arguments.pattern} in {folder.text}"
        count, _, at_least = found.counted
        more = f"\n(the first {MAX_FOUND:,} of {at_least}{count:,}; use a narrower pattern or path)" if count > MAX_FOUND else ""
        return ToolResult(parts=(TextPart(text=shown(f"{text}{more}{found.note}", context, "glob")),))


async def matching_files(folder: str, context: ToolContext, pattern: str | None) -> set[str]:
    """The files below that are not ignored and match the pattern."""
    if pattern is None:
        return await files(folder, context.environment)
    matching = await files(folder, context.environment, (pattern,))
    return matching & await files(folder, context.environment) if matching else matching


def refuse_odd_pattern(pattern: str, name: str) -> None:
    """Patterns that ripgrep would take for something else.

    Raises:
        ToolFailure: It negates, begins at the root, climbs, or holds a NUL.
    """
    if "\0" in pattern or not pattern.isprintable():
        raise ToolFailure(f"{name} holds a character that no file's name should hold")
    if pattern.startswith("!"):
        raise ToolFailure(f"{name} may not begin with `!`; say what to find, not what to leave out")
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise ToolFailure(f"{name} is matched below path; give the folder as path, and {name} without `/`, `~` or `..` at its start")
