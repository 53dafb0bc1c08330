"""Find what is named in some way below a folder, afresh: nothing is remembered between commands. Follows no links."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mcp_server.policy import wildcards

MOST = 400_000
"""Entries that one look may take, about half a second's worth; a folder that holds more cannot be vouched for."""


class TooMany(Exception):
    """The folder holds more than can be looked through for each command."""


@dataclass(slots=True)
class Names:
    """Patterns sorted by how fast they can be tried. `*` matches `/` too, so a folder that is met stands for all that lies in it."""

    exact: set[str] = field(default_factory=set[str])
    heads: list[str] = field(default_factory=list[str])
    tails: list[str] = field(default_factory=list[str])
    others: list[Callable[[str], bool]] = field(default_factory=list[Callable[[str], bool]])

    def add(self, pattern: str) -> None:
        """One more pattern, as matched against absolute paths."""
        start, slash, last = pattern.rpartition("/")
        if last == "*" and start.startswith("*/") and wildcards.plain(start[2:]) and "/" not in start[2:]:
            self.exact.add(start[2:])
        elif slash and start == "*" and wildcards.plain(last):
            self.exact.add(last)
        elif slash and start == "*" and last.endswith("*") and wildcards.plain(last[:-1]):
            self.heads.append(last[:-1])
        elif not slash and pattern.startswith("*") and wildcards.plain(pattern[1:]):
            self.tails.append(pattern[1:])
        else:
            self.others.append(wildcards.test_of(pattern))

    def __bool__(self) -> bool:
        return bool(self.exact or self.heads or self.tails or self.others)


Look = Callable[[str, Names], Iterable[str]]
"""Below a folder, the paths that any of the names meets.

Raises:
    TooMany: It cannot be told within bounds.
"""


def look(folder: str, names: Names) -> list[str]:
    """See `Look`. What cannot be entered by this user cannot be entered by a command either."""
    found: list[str] = []
    exact, heads, tails, others = names.exact, tuple(names.heads), tuple(names.tails), names.others
    waiting, seen = [folder], 0
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                seen += 1
                name = entry.name
                if name in exact or name.startswith(heads) or name.endswith(tails) or (others and any(test(entry.path) for test in others)):
                    found.append(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        if seen > MOST:
            raise TooMany(folder)
    return found
