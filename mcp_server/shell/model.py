"""What is read from a line, before anything is judged: words, places, commands. Frozen, without behaviour."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

Folders = frozenset[str]
"""Where a command may run: absolute paths, one a way that the line may have taken. Empty: not known."""

NOWHERE: Folders = frozenset()

Place = tuple[Folders, Folders]
"""Where a line stands if what came last succeeded, and where however it ended."""

Expand = Callable[[str, str], tuple[str, ...] | None]
"""The names that a pattern stands for, seen from a folder; empty: none matches. None: too many to name."""


class Sort(StrEnum):
    """How much of a word is known."""

    PLAIN = "plain"
    """`text` is what the program is given."""
    ONE = "one"
    """One word, whose text is not known."""
    MANY = "many"
    """Any number of words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word of a command after quote removal and the expansions that can be known."""

    raw: str
    """As written; empty for the second and further words that one written word came to."""
    text: str
    """What the program is given; where that is not known, what is written."""
    sort: Sort = Sort.PLAIN
    under: tuple["Touch", ...] = ()
    """Not known, but a path in one of these."""
    matched: bool = False
    """It came of a pattern that was compared with the files that are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """A path as a command means it."""

    text: str
    folders: Folders
    """Where a relative path starts from; empty: that is not known."""
    whole: bool = False
    """And all that lies in it."""
    some: bool = False
    """Not all that lies in it, but nobody can say which."""
    shown_only: bool = False
    """But for names that start with a dot."""
    inside_as: str = ""
    """Where `text` is a folder, the name in it that is meant instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """`NAME=value` in front of a command, or alone."""

    name: str
    value: Word
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """One simple command where it stands."""

    words: tuple[Word, ...]
    assigned: tuple[Assigned, ...] = ()
    folders: Folders = frozenset()
    fed_by: "Simple | None" = None
    """The command before it in a pipeline."""
    reads_input: bool = False
    """A redirect or here-document is its input."""
    compound: bool = False
    """`[[ … ]]` or `(( … ))`: grammar of the shell, not a program."""


@dataclass(slots=True)
class Found:
    """All of a line, as it is gathered."""

    simples: list[Simple]
    reads: list[Touch]
    writes: list[Touch]
    visited: list[Touch]
    """Folders that it changes to."""
    problems: list[str]
    """Why the line as a whole cannot be read for certain."""
    lines: list[str]
    """Every line in it that a shell reads, itself first."""
    seen: list[tuple[str, ...]]
    """Every command and redirect as written, word for word: what a second parser must see alike."""


def nothing() -> Found:
    """Of a line that is not walked yet."""
    return Found(simples=[], reads=[], writes=[], visited=[], problems=[], lines=[], seen=[])
