"""The forms of a command whose words are known: path, assignments and wrappers peeled, and the commands inside."""

import re
from dataclasses import dataclass

from mcp_server.errors import ToolFailure
from mcp_server.shell.programs import (
    ASSIGNING,
    EXECUTING_WORDS,
    GIT_LETTERS,
    GIT_PROGRAMS,
    GIT_RUNNERS,
    INLINE,
    LINE_RUNNERS,
    SHELLS,
    WRAPPERS,
    Inline,
    Wrapper,
)
from mcp_server.shell.words import RESERVED, assignment

MAX_PLACES = 64
"""Places in one command where another may begin, wrappers in wrappers included. A command with more is a way to hide something."""

_VERSION = re.compile(r"[0-9][0-9.]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeled:
    """What is known of one command."""

    forms: tuple[str, ...]
    """Each way to write it that a deny or ask should hear, outermost first."""
    inner: tuple[tuple[str, ...], ...]
    """The commands inside wrappers, as words, outermost first."""
    opaque: bool
    """It runs code, or a program, that its words do not show."""


def peeled(words: tuple[str, ...]) -> Peeled:
    """All the forms of a command, however deep it is wrapped.

    Raises:
        ToolFailure: It is wrapped deeper than anybody would, or in ways that are not known.
    """
    forms: dict[str, None] = {}
    inner: list[tuple[str, ...]] = []
    opaque = False
    guesses = [words]
    seen: set[tuple[str, ...]] = set()
    while guesses:
        at = guesses.pop(0)
        if at in seen:
            continue
        seen.add(at)
        if len(seen) + len(guesses) > MAX_PLACES:
            raise ToolFailure("the command is wrapped too deep, or in ways that are not known; run the command inside it by itself")
        bare = _unassigned(at)
        opaque = opaque or bare != at
        forms.update(dict.fromkeys(_written(at) + _written(bare)))
        if not bare:
            continue
        opaque = opaque or runs_hidden(bare)
        commands, certain = _wrapped(bare)
        opaque = opaque or not certain
        inner += commands if certain else ()
        guesses += commands
    return Peeled(forms=tuple(forms), inner=tuple(inner), opaque=opaque)


def program(word: str) -> str:
    """A program's name without its path."""
    return word.rstrip("/").rpartition("/")[2] or word if "/" in word else word


def runs_hidden(words: tuple[str, ...]) -> bool:
    """Does it run inline code, or a program that an option names?"""
    name = program(words[0])
    if name in ASSIGNING and any(assignment(word) for word in words[1:]):
        return True
    table = INLINE.get(name) or INLINE.get(_VERSION.sub("", name).rstrip("-"))
    if table is None:
        return False
    if table.always or (table.undashed and any(letter in table.letters for letter in "".join(words[1:2]))):
        return True
    options = _before_operand(words[1:], table.valued) if table.valued is not None else words[1:]
    return any(_hit(word, table) for word in options) or (name == "git" and _git(words[1:], table))


def _git(words: tuple[str, ...], table: Inline) -> bool:
    rest = words[len(_before_operand(words, table.valued or frozenset())) :]
    if not rest:
        return False
    letters = Inline(letters=GIT_LETTERS.get(rest[0], ""), long=GIT_PROGRAMS)
    return rest[0] in GIT_RUNNERS or any(_hit(word, letters) for word in rest[1:])


def _hit(word: str, table: Inline) -> bool:
    if word in table.words:
        return True
    if word.startswith("--"):
        return _long_hit(word, table.long)
    return word.startswith("-") and any(letter in table.letters for letter in word[1:])


def _long_hit(word: str, long: tuple[str, ...]) -> bool:
    name = word.partition("=")[0]
    return len(name) > 2 and name.startswith("--") and any(option.startswith(name) for option in long)


def _before_operand(words: tuple[str, ...], valued: frozenset[str]) -> tuple[str, ...]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    return words[:at]


def _unassigned(words: tuple[str, ...]) -> tuple[str, ...]:
    at = 0
    while at < len(words) and (assignment(words[at]) or (words[at] in RESERVED and words[at] != "time")):
        at += 1
    return words[at:]


def _written(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words:
        return ()
    whole = " ".join(words)
    name = program(words[0])
    return (whole,) if name == words[0] else (whole, " ".join((name, *words[1:])))


def wrapped_at(words: tuple[str, ...]) -> int | None:
    """Where in a wrapper's words its command begins, their number where it has none; None: that is not certain."""
    wrapper = WRAPPERS.get(program(words[0]))
    return None if wrapper is None else _command_place(words, wrapper)


def _wrapped(words: tuple[str, ...]) -> tuple[list[tuple[str, ...]], bool]:
    """The commands inside, and whether their place is certain."""
    name = program(words[0])
    if starts := EXECUTING_WORDS.get(name):
        return [words[at + 1 :] for at, word in enumerate(words) if word in starts and at + 1 < len(words)], True
    if name in SHELLS:
        lines = [words[at + 1 :] for at, word in enumerate(words) if word.startswith("-") and "c" in word]
        return lines, not lines
    if name in LINE_RUNNERS:
        return [words[1:]], False
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return [], True
    at = _command_place(words, wrapper)
    if at is not None:
        return ([words[at:]] if at < len(words) else []), True
    return [words[place:] for place in range(1, min(len(words), MAX_PLACES + 1))], False


def _command_place(words: tuple[str, ...], wrapper: Wrapper) -> int | None:
    at, operands = 1, wrapper.operands
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1 + operands
        if word in wrapper.valued:
            at += 2
        elif word in wrapper.flags or (wrapper.assignments and assignment(word)) or _attached(word, wrapper):
            at += 1
        elif word.startswith("-") and len(word) > 1:
            return None
        elif operands > 0:
            at, operands = at + 1, operands - 1
        else:
            return at
    return at


def _attached(word: str, wrapper: Wrapper) -> bool:
    """`--signal=9`, `-n5`, `-5`: an option with its value in one word."""
    name = word.partition("=")[0]
    return (word.startswith("--") and "=" in word and name in wrapper.valued) or (
        word.startswith("-") and not word.startswith("--") and (word[:2] in wrapper.valued or word[1:].isdigit())
    )
