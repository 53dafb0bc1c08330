"""`grep`: search in what files say.

Which files may be read is settled before anything is searched, and what is said of the others never depends on what is in them.
"""

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.glob import MAX_PATTERN, matching_files, refuse_odd_pattern
from mcp_server.tools.opening import opened, place_of
from mcp_server.tools.outputs import shown
from mcp_server.tools.paths import locate, path_requests, refuse_unless_judged
from mcp_server.tools.ripgrep import refuse_failure, search
from mcp_server.tools.searching import files_in_words, folder_faults, judged, printable

MAX_MATCHES = 500
"""Matching lines in one answer."""

MAX_LINE = 500
"""Characters of a matching line."""


class GrepArguments(BaseModel):
    """What to search for where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str = Field(min_length=1, max_length=MAX_PATTERN, description="A regular expression, in ripgrep's (Rust's) form")
    path: str = Field(default=".", description="The folder or file to search; the workspace if left out")
    include: str | None = Field(
        default=None, min_length=1, max_length=MAX_PATTERN, description="Only files whose path matches, such as `*.py` or `*.{ts,tsx}`"
    )


@dataclass(slots=True)
class Matches:
    """Takes ripgrep's JSON records, keeps the matches of files that may be read."""

    readable: Callable[[str], PathValue | None]
    """The path of a file that may be shown; None for any other."""
    name: str | None = None
    """What to take a match's path for; None: what ripgrep says."""
    lines: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    binary: int = 0
    count: int = 0

    def take(self, record: bytes) -> bool:
        """One record; False: enough."""
        if not record:
            return True
        parsed = json.loads(record)
        if parsed["type"] not in ("match", "end"):
            return True
        name = self.name if self.name is not None else _text(parsed["data"]["path"]).removeprefix("./")
        if self.readable(name) is None:
            return True
        if parsed["type"] == "end":
            self._end(name, parsed["data"])
            return True
        if self.count >= MAX_MATCHES:
            return False
        text = _text(parsed["data"]["lines"]).rstrip("\r\n")
        self.lines.setdefault(name, []).append(f"  Line {parsed['data']['line_number']}: {_cut(text)}")
        self.count += 1
        return True

    def _end(self, name: str, ended: dict[str, Any]) -> None:
        if ended["binary_offset"] is not None:
            self.binary += 1
            self.count -= len(self.lines.pop(name, []))


class GrepTool:
    """Searches with ripgrep."""

    spec = ToolSpec(
        name="grep",
        title="Search in files",
        description=(
            "Searches files for a regular expression, line by line, and shows each matching line with its file and number. Case "
            "matters; put `(?i)` first to ignore it. Escape `.`, `(`, `{` and the like to search for them. include narrows by file "
            "name, path by folder. Ignored files (.gitignore) and binary files are left out, hidden files are searched; links are "
            "not followed. Files that the rules do not let you read are left out and counted. Sorted by path, at most 500 lines. To"
            " find files by name use glob."
        ),
        arguments=GrepArguments,
        hints=Hints(read_only=True, destructive=False, idempotent=True),
    )

    def requests(self, arguments: GrepArguments, context: ToolContext) -> tuple[Request, ...]:
        """`grep` with the folder; for a single file its folder, and `read` with the file."""
        path = locate(arguments.path, context.workspace)
        if not _is_file(path):
            return path_requests("grep", path)
        folder = locate(os.path.dirname(path.resolved), context.workspace)
        return *path_requests("grep", folder), *path_requests("read", path)

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolResult:
        """Search."""
        refuse_unless_judged(self, arguments, context)
        path = locate(arguments.path, context.workspace)
        if "\0" in arguments.pattern:
            raise ToolFailure("pattern holds a NUL character; write it as `\\x00`")
        if arguments.include is not None:
            refuse_odd_pattern(arguments.include, "include")
        with folder_faults(path):
            if _is_file(path):
                return await _in_file(path, arguments, context)
            return await _in_folder(path, arguments, context)


async def _in_file(path: PathValue, arguments: GrepArguments, context: ToolContext) -> ToolResult:
    taken = Matches(lambda _: path, name=path.resolved)
    options = ["--json", f"--regexp={arguments.pattern}"]
    with place_of(path.resolved) as place, opened(place) as (handle, _):
        folder = os.path.dirname(path.resolved)
        ended = await search(options, folder, context.environment, taken.take, separator=b"\n", stdin=handle, target="-")
    refuse_failure(ended, found=bool(taken.count))
    return _told(taken, ended.stopped, ended.dropped, f"in {path.text}", "", context)


async def _in_folder(folder: PathValue, arguments: GrepArguments, context: ToolContext) -> ToolResult:
    names = await matching_files(folder.resolved, context, arguments.include)
    found = await judged(names, folder, context)
    taken = Matches(found.readable)
    options = ["--json", "--sort=path", f"--regexp={arguments.pattern}"]
    if arguments.include is not None:
        options.append(f"--glob={arguments.include}")
    ended = await search(options, folder.resolved, context.environment, taken.take, separator=b"\n")
    refuse_failure(ended, found=bool(taken.count))
    count, _, at_least = found.counted
    return _told(taken, ended.stopped, 0, f"in {at_least}{files_in_words(count)} searched", found.note, context)


def _told(taken: Matches, stopped: bool, dropped: int, where: str, left_out: str, context: ToolContext) -> ToolResult:
    blocks = [
        f"{printable(value.text)}:\n" + "\n".join(taken.lines[name])
        for name in sorted(taken.lines, key=lambda name: name.split("/"))
        if (value := taken.readable(name)) is not None
    ]
    head = f"{taken.count} {'match' if taken.count == 1 else 'matches'} {where}" if taken.count else f"no match {where}"
    notes = [f"(only the first {MAX_MATCHES} are shown; narrow the pattern, path or include)"] if stopped else []
    if taken.binary:
        notes.append(f"({taken.binary} binary {'file matches' if taken.binary == 1 else 'files match'}, not shown)")
    if dropped:
        notes.append("(matches in lines too long to show are left out)")
    text = "\n\n".join([head, *blocks]) + "".join(f"\n{note}" for note in notes) + left_out
    return ToolResult(parts=(TextPart(text=shown(text, context, "grep")),))


def _is_file(path: PathValue) -> bool:
    return os.path.lexists(path.resolved) and not os.path.isdir(path.resolved)


def _text(field: dict[str, str]) -> str:
    """A string of ripgrep's JSON: text, or base64 where the bytes are not UTF-8."""
    if "text" in field:
        return field["text"]
    return base64.b64decode(field["bytes"]).decode(errors="surrogateescape")


def _cut(text: str) -> str:
    text = text.encode(errors="surrogateescape").decode(errors="replace")
    return text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}… (line cut)"
