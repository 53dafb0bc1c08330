"""Find what is named in some way below a folder, afresh: nothing is remembered between commands. Follows no links."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mcp_server.policy import wildcards

MOST = 400_000
"""Entries that one look may take, about half a second's worth; a folder that holds more cannot be vouched for."""


_LAST = re.compile(r"(?s)(?:(.*)([*?]))?([^*?]*)")
"""A pattern up to its last wildcard, the wildcard, and what stands behind it."""


class TooMany(Exception):
    """The folder holds more than can be looked through for each command."""


@dataclass(slots=True)
class Names:
    """What the last names of paths that patterns meet have in common. May meet more than the patterns do, never less: `*` matches
    `/` too, so a folder that is met stands for all that lies in it.
    """

    exact: set[str] = field(default_factory=set[str])
    heads: list[str] = field(default_factory=list[str])
    tails: list[str] = field(default_factory=list[str])
    others: list[Callable[[str], bool]] = field(default_factory=list[Callable[[str], bool]])

    def add(self, pattern: str) -> None:
        """One more pattern, as matched against absolute paths."""
        start, wild, last = _LAST.match(pattern.removesuffix("/*")).groups("")  # pyright: ignore[reportOptionalMemberAccess] - matches any text
        _, slash, name = last.rpartition("/")
        if wild and not last:
            self._open_ended(start, pattern)
        elif slash and name:
            self.exact.add(name)
        elif name:
            self.tails.append(name)
        else:
            self.others.append(wildcards.test_of(pattern))

    def _open_ended(self, start: str, pattern: str) -> None:
        """It ends in a wildcard: some name on the way begins with what stands before that."""
        before = re.split(r"[*?]", start)[-1]
        _, slash, head = before.rpartition("/")
        if slash and head:
            self.heads.append(head)
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
