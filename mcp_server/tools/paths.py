"""From an argument's text to the path that policy judges, and back: is it still what was judged?

Nothing is opened here: that is `opening`. A `~` is not expanded for models: whose home it would be is not for them to say.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.tools.base import Tool, ToolContext

MAX_PATH = 4096
"""Bytes. What Linux takes; a longer one cannot name a file."""

MAX_NAME = 255
"""Bytes. The longest name that the common file systems keep."""

IgnoresCase = Callable[[str], bool]
"""Does this existing folder take `A` and `a` for one name?"""


def locate(text: str, workspace: Path, ignores_case: IgnoresCase | None = None) -> PathValue:
    """The path that `text` names, seen from the workspace.

    Raises:
        ToolFailure: It can be no path: empty, NUL, too long, not text, or it begins with `~`.
    """
    _refuse_nonsense(text)
    base = str(workspace)
    joined = os.path.join(base, text)
    resolved = os.path.realpath(joined)
    try:
        resolved.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{text!r} leads to a name that is not UTF-8; it cannot be used here") from None
    probe = ignores_case if ignores_case is not None else folder_ignores_case
    return PathValue(
        resolved=_posix(resolved),
        relative=relative_to(resolved, base),
        unresolved=_posix(os.path.normpath(joined)),
        ignore_case=probe(nearest_folder(resolved)),
    )


def below(folder: PathValue, relative: str, workspace: Path, *, ignore_case: bool) -> PathValue:
    """A file found under an already resolved folder by a walk that follows no links."""
    resolved = f"{folder.resolved.rstrip('/')}/{relative}"
    return PathValue(
        resolved=resolved,
        relative=relative_to(resolved, str(workspace)),
        unresolved=f"{folder.unresolved.rstrip('/')}/{relative}",
        ignore_case=ignore_case,
    )


def path_requests(permission: str, value: PathValue) -> tuple[Request, ...]:
    """The permission, and `external_directory` beside it for a path outside the workspace."""
    asked = Request(permission=permission, values=(value,))
    return (asked,) if value.inside else (asked, outside(value))


def outside(*values: PathValue) -> Request:
    """The request that paths outside the workspace raise."""
    return Request(permission="external_directory", values=values)


def refuse_unless_judged(tool: Tool, arguments: Any, context: ToolContext) -> None:
    """Stop unless what the call comes to now was judged.

    Raises:
        ToolFailure: A link was swapped since, or nobody judged the call.
    """
    refuse_unless_among(context.judged, tool.requests(arguments, context))


def refuse_unless_among(judged: Sequence[Request], requests: Sequence[Request]) -> None:
    """The same, where it is known already what the call comes to now."""
    for request in requests:
        if request not in judged:
            raise ToolFailure(
                "nothing was done: what the call leads to changed after it was allowed; call again to have it judged as it is now"
            )


def relative_to(resolved: str, workspace: str) -> str | None:
    """`resolved` as seen from the workspace, `.` for the workspace itself, None outside it."""
    if resolved == workspace:
        return "."
    prefix = workspace.rstrip(os.sep) + os.sep
    return _posix(resolved[len(prefix) :]) if resolved.startswith(prefix) else None


def nameable(text: str) -> bool:
    """Is it short enough to be a path?"""
    encoded = text.encode()
    return len(encoded) <= MAX_PATH and all(len(part) <= MAX_NAME for part in encoded.split(b"/"))


def nearest_folder(resolved: str) -> str:
    """The deepest existing folder on the way to a path, itself included."""
    folder = resolved
    while not os.path.isdir(folder):
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return folder


def folder_ignores_case(folder: str) -> bool:
    """Look one name up in swapped case: an entry of the folder, or where it has none, its own name in its parent.

    Case folding can be a property of a single folder, so nothing is remembered between calls.
    """
    while True:
        found = _swapped_name_exists(folder)
        if found is not None:
            return found
        parent = os.path.dirname(folder)
        name = os.path.basename(folder)
        if parent == folder:
            return False
        if name.swapcase() != name:
            return _same(os.path.join(parent, name), os.path.join(parent, name.swapcase()))
        folder = parent


class CaseByFolder:
    """Remembers the answer a folder for the length of one call; made afresh for each."""

    def __init__(self, ignores_case: IgnoresCase = folder_ignores_case) -> None:
        self._ignores_case = ignores_case
        self._known: dict[str, bool] = {}

    def __call__(self, folder: str) -> bool:
        if folder not in self._known:
            self._known[folder] = self._ignores_case(folder)
        return self._known[folder]


def _swapped_name_exists(folder: str) -> bool | None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.swapcase() != entry.name:
                    return _same(entry.path, os.path.join(folder, entry.name.swapcase()))
    except OSError:
        return None
    return None


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def _refuse_nonsense(text: str) -> None:
    if not text:
        raise ToolFailure("the path is empty; give one relative to the workspace, or an absolute one")
    if "\0" in text:
        raise ToolFailure("the path holds a NUL character; no file can have that name")
    if text == "~" or text.startswith("~"):
        raise ToolFailure("`~` is not expanded here; give an absolute path, one relative to the workspace, or `./~…` for that very name")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailure("the path is not valid Unicode text") from None
    if not nameable(text):
        raise ToolFailure(f"the path is too long; a name has at most {MAX_NAME} bytes, a path {MAX_PATH}")


def _posix(text: str) -> str:
    text = text.replace(os.sep, "/")
    return text[1:] if text.startswith("//") and os.sep == "/" else text
