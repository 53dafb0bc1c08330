"""Which places outside the workspace the words of a command name."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue
from mcp_server.tools.paths import locate, nameable

HARMLESS = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})
"""Absolute paths that are no places."""

MAX_PLACES = 50
"""Places of one command that a person is shown; a line that names more is not for a prompt."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Surroundings(Protocol):
    """What of a session the reading of a command hangs on."""

    @property
    def workspace(self) -> Path: ...

    @property
    def environment(self) -> Mapping[str, str]: ...

    @property
    def closings(self) -> Callable[[str, Sequence[PathValue]], Sequence[frozenset[str]]] | None: ...


def places_outside(words: Iterable[str], folder: str, context: Surroundings) -> tuple[PathValue, ...]:
    """Each place outside that a word may mean, seen from the folder the command runs in.

    Raises:
        ToolFailure: There are more than anybody would read, or one that cannot be told.
    """
    home = context.environment.get("HOME", "")
    found: dict[str, PathValue] = {}
    for candidate in dict.fromkeys(candidate for word in words for candidate in _candidates(word, home)):
        path = os.path.join(folder, candidate)
        if not nameable(path) or locate(path, context.workspace, _not_yet).inside:
            continue
        value = locate(path, context.workspace)
        if value.unresolved not in HARMLESS:
            found[value.resolved] = value
        if len(found) > MAX_PLACES:
            raise ToolFailure(f"the command names more than {MAX_PLACES} places outside the workspace; give it in parts")
    return tuple(found.values())


def _candidates(word: str, home: str) -> Iterator[str]:
    """The word, and what follows `=`, `:`, `,` or the letters of an option: `--file=/x`, `host:/x`, `-I/x`."""
    if _SCHEME.search(word):
        return
    for part in {word, *re.split(r"[=:,]", word)}:
        if part.startswith("~"):
            yield home + part[1:] if home and part[1:2] in ("", "/") else f"/{part}"
        elif part.startswith("-"):
            yield from (part[at:] for at in [part.find("/")] if at > 0)
        elif part:
            yield part


def _not_yet(_folder: str) -> bool:
    """Whether case counts matters only for what lies outside, and costs a look at a folder."""
    return False
