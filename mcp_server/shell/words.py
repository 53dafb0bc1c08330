"""Is a line one simple command whose words are certain? Then here they are.

Certain means: plain characters and whole quoted literals between blanks, nothing that a shell would expand, substitute,
redirect or join. Anything else is not tried here; `rough` reads such lines for what can be seen in them.
"""

import re
from dataclasses import dataclass

_BARE = re.compile(r"[A-Za-z0-9_./,:=@%+^-]+")
"""Characters that no shell gives a meaning inside a word. `=` counts only in front: see `assignment`."""

_SINGLE = re.compile(r"'[^']*'")
_DOUBLE = re.compile(r'"[^"$`\\!]*"')
_BLANK = re.compile(r"[ \t]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?\+?=")

RESERVED = frozenset(
    {
        "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
        "select", "then", "time", "until", "while",
    }
)  # fmt: skip
"""Words that are not a program's name where a command begins. `time` is a wrapper as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of one simple command, quotes taken off."""

    words: tuple[str, ...]
    quoted: bool
    """Some of it was quoted."""


def certain_words(line: str) -> Words | None:
    """The words, or None where one cannot be certain of them."""
    if not line.isascii() or any(ord(char) < 32 and char != "\t" for char in line):
        return None
    words: list[str] = []
    quoted = False
    at = 0
    stripped = line.strip(" \t")
    while at < len(stripped):
        if blank := _BLANK.match(stripped, at):
            at = blank.end()
            continue
        word, at, was_quoted = _word(stripped, at)
        if word is None:
            return None
        words.append(word)
        quoted = quoted or was_quoted
    return Words(words=tuple(words), quoted=quoted) if words else None


def assignment(word: str) -> bool:
    """Would the word, in front of a command, set a variable?"""
    return _ASSIGNMENT.match(word) is not None


def _word(line: str, at: int) -> tuple[str | None, int, bool]:
    parts: list[str] = []
    quoted = False
    while at < len(line) and line[at] not in " \t":
        if bare := _BARE.match(line, at):
            parts.append(bare.group())
            at = bare.end()
        elif literal := _SINGLE.match(line, at) or _DOUBLE.match(line, at):
            parts.append(literal.group()[1:-1])
            at = literal.end()
            quoted = True
        else:
            return None, at, quoted
    return "".join(parts), at, quoted


def named(text: str) -> frozenset[str]:
    """A set of names, written short."""
    return frozenset(text.split())
