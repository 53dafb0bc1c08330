"""`list`: a folder as a tree of names.

Its own permission governs names, so files that may not be read are named here as in any listing; what they say is not shown.
"""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.policy.values import Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.glob import MAX_PATTERN, refuse_odd_pattern
from mcp_server.tools.outputs import shown
from mcp_server.tools.paths import locate, path_requests, refuse_unless_judged
from mcp_server.tools.ripgrep import files
from mcp_server.tools.searching import folder_faults, printable

MAX_ENTRIES = 500
"""Lines of a tree. Deeper folders are counted instead of shown until it fits."""

USUAL = ("node_modules", "__pycache__", ".venv", "venv", "dist", "build", "target", "vendor", ".idea", ".cache", "coverage")
"""Folders that are made, not written; left out unless they are asked for by path."""

Tree = dict[str, "Tree | None"]
"""A folder's entries; None for a file."""


class ListArguments(BaseModel):
    """Which folder to show."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(default=".", description="The folder; the workspace if left out")
    ignore: tuple[str, ...] = Field(default=(), max_length=50, description="Patterns of files and folders to leave out, such as `*.log`")


class ListTool:
    """Shows names."""

    spec = ToolSpec(
        name="list",
        title="List a folder",
        description=(
            "Shows the files of a folder and the folders below as a tree, at most 500 lines: in a large one the deeper folders are "
            "only counted, list those by path. Ignored files (.gitignore), links, empty folders, and folders such as node_modules "
            "or build are left out. Prefer glob and grep when you know what you look for."
        ),
        arguments=ListArguments,
        hints=Hints(read_only=True, destructive=False, idempotent=True),
    )

    def requests(self, arguments: ListArguments, context: ToolContext) -> tuple[Request, ...]:
        """`list`, with the folder."""
        return path_requests("list", locate(arguments.path, context.workspace))

    async def run(self, arguments: ListArguments, context: ToolContext) -> ToolResult:
        """Show it."""
        refuse_unless_judged(self, arguments, context)
        folder = locate(arguments.path, context.workspace)
        for pattern in arguments.ignore:
            refuse_odd_pattern(pattern[:MAX_PATTERN], "ignore")
        with folder_faults(folder):
            globs = [f"!{pattern}" for pattern in (*USUAL, *arguments.ignore)]
            names = await files(folder.resolved, context.environment, globs)
        text = "\n".join([f"{folder.resolved.rstrip('/')}/", *fitting(tree_of(names))]) if names else f"no files in {folder.text}"
        return ToolResult(parts=(TextPart(text=shown(text, context, "list")),))


def tree_of(names: Iterable[str]) -> Tree:
    """Nested folders from relative paths."""
    root: Tree = {}
    for name in names:
        *folders, file = name.split("/")
        at = root
        for folder in folders:
            inner = at.setdefault(folder, {})
            if inner is None:
                inner = at[folder] = {}
            at = inner
        at[file] = None
    return root


def fitting(tree: Tree) -> list[str]:
    """The tree's lines, as deep as `MAX_ENTRIES` allows."""
    depth = 1
    lines = _lines(tree, 1, "  ")
    while len(lines) <= MAX_ENTRIES:
        depth += 1
        deeper = _lines(tree, depth, "  ")
        if deeper == lines or len(deeper) > MAX_ENTRIES:
            break
        lines = deeper
    left = len(lines) - MAX_ENTRIES
    return [*lines[:MAX_ENTRIES], f"  … and {left:,} more; use glob"] if left > 0 else lines


def _lines(tree: Tree, depth: int, indent: str) -> list[str]:
    lines: list[str] = []
    for name, inner in sorted(tree.items(), key=lambda entry: (entry[1] is None, entry[0])):
        if inner is None:
            lines.append(f"{indent}{printable(name)}")
        elif depth > 1:
            lines += [f"{indent}{printable(name)}/", *_lines(inner, depth - 1, indent + "  ")]
        else:
            count = _count(inner)
            lines.append(f"{indent}{printable(name)}/ ({'1 file' if count == 1 else f'{count:,} files'})")
    return lines


def _count(tree: Tree) -> int:
    return sum(1 if inner is None else _count(inner) for inner in tree.values())
