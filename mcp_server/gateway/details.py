"""What a person wants to see beside a call before they answer: what an edit changes, and what a line of shell consists of."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_server.errors import ToolFailure
from mcp_server.shell.model import Touch
from mcp_server.shell.reading import Reading, read_line
from mcp_server.tools.bash_asking import matching
from mcp_server.tools.diffs import short_diff
from mcp_server.tools.replacing import replaced

LARGEST_COMPARED = 1024 * 1024
"""Bytes of a file that is compared with what is to become of it."""

MOST_PARTS = 40
"""Parts of one line that are read one by one; a longer line is told as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One command of a line, or the line itself, and what it would touch."""

    text: str
    traits: tuple[str, ...] = ()
    touches: tuple[tuple[str, str], ...] = ()
    """What is done and to what: `reads`, `src/a.py`."""


def diff_of(tool: str, arguments: Mapping[str, Any], workspace: str | None) -> str:
    """What the call would change, as a diff against the file as it is now. Empty: it is no edit, or changes nothing that can be shown."""
    name = arguments.get("filePath")
    if not isinstance(name, str):
        return ""
    now = _content(os.path.join(workspace, name)) if workspace is not None else None
    match tool, arguments:
        case "write", {"content": str(content)}:
            return short_diff(now or b"", _bytes(content), name)
        case "edit", {"oldString": str(old), "newString": str(new)}:
            if now is not None and old:
                try:
                    after = replaced(now, old, new, everywhere=arguments.get("replaceAll") is True, hints=False)
                    return short_diff(now, after.content, name)
                except ToolFailure:
                    pass
            return short_diff(_bytes(old), _bytes(new), name)
        case _:
            return ""


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def _content(path: str) -> bytes | None:
    """A plain file's content. None: there is none, or none that is compared."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    what = os.fstat(descriptor)
    if not stat.S_ISREG(what.st_mode) or what.st_size > LARGEST_COMPARED:
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read(LARGEST_COMPARED)


def parts_of(arguments: Mapping[str, Any], workspace: str | None, home: str) -> tuple[Part, ...]:
    """The commands of a line of `bash`, each with what it would touch. Nothing is run.

    Args:
        arguments: Those of the call.
        workspace: The session's.
        home: What `$HOME` stands for.
    """
    command, at = arguments.get("command"), arguments.get("workdir", ".")
    if not isinstance(command, str) or not isinstance(at, str) or workspace is None:
        return ()
    folder = os.path.normpath(Path(workspace) / at)
    try:
        whole = read_line(command, folder=folder, home=home, expand=matching)
        one_by_one = not whole.visited and not whole.why and 1 < len(whole.commands) <= MOST_PARTS
        if not one_by_one:
            parts = [Part(text=each.text, traits=_traits(each.opaque, each.read_only, each.effects_known)) for each in whole.commands]
            together = _touches(whole)
            return (*parts, Part(text="", touches=together)) if together else tuple(parts)
        return tuple(
            Part(
                text=each.text,
                traits=_traits(each.opaque, each.read_only, each.effects_known),
                touches=_touches(read_line(each.text, folder=folder, home=home, expand=matching, second=False)),
            )
            for each in whole.commands
        ) + tuple(Part(text="", touches=left) for left in (_redirects(whole),) if left)
    except ToolFailure as failure:
        return (Part(text=command, traits=(str(failure),)),)


def _traits(opaque: bool, read_only: bool, effects_known: bool) -> tuple[str, ...]:
    if opaque:
        return ("holds a part that cannot be read",)
    if read_only:
        return ("reads only",)
    return () if effects_known else ("may do more than can be seen here",)


def _touches(reading: Reading) -> tuple[tuple[str, str], ...]:
    return (
        *(("cannot be read", why) for why in reading.why),
        *_named("goes to", reading.visited),
        *_named("reads", reading.reads),
        *_named("writes", reading.writes),
        *(("fetches", url) for url in reading.urls),
    )


def _redirects(whole: Reading) -> tuple[tuple[str, str], ...]:
    """Of a line of several commands: all that it writes, redirects included, which no single command shows."""
    return _named("the line writes", whole.writes)


def _named(deed: str, touched: Sequence[Touch]) -> tuple[tuple[str, str], ...]:
    return tuple((deed, f"{one.text}{' and all in it' if one.whole else ''}") for one in touched)
