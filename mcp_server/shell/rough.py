"""What can be seen in a line that cannot be read for certain: every place where a command may begin.

Only to find what a rule denies, never to find that something is harmless: too many places are right here, too few are a hole.
"""

import re
from dataclasses import dataclass

from mcp_server.errors import ToolFailure
from mcp_server.shell.forms import peeled
from mcp_server.shell.words import RESERVED

MAX_PIECES = 1000
"""Commands of one line. Nobody writes so many; each is judged."""

_CONTINUED = re.compile(r"\\\r?\n")
_FIELD_SEPARATOR = re.compile(r"\$\{?IFS\}?")
_NOTHING = re.compile(r"\$(?:[@*1-9]|\{[@*]\})")
_REDIRECT = re.compile(
    r"(?:(?<![^\s;|&(){}<>])[0-9]+)?(?:&>>|&>|>>|>\||>&|<&|<>|<<<|<<-?|>|<)(?!\()[ \t]*"
    r"""("[^"$`;|&()<>{}\n]*"|'[^';|&()<>{}\n]*'|[^\s;|&()<>`]+)"""
)
"""A redirect and its target. What it takes away holds no place where a command could begin, quoted or not."""

_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")
_BREAK = re.compile(r"[;|&()<>{}\n\r`]+|\$\(")
_QUOTING = str.maketrans("", "", "'\"\\$")
_EXPANDED_COMMAS = re.compile(r"\{[^{}\s]*,[^{}\s]*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a line that may be a command."""

    text: str
    """As written."""
    forms: tuple[str, ...]
    """What it may come to, most plain first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rough:
    """A line as far as it can be seen."""

    pieces: tuple[Piece, ...]
    words: tuple[str, ...]
    """Every word and redirect target, quotes taken off: places that it may name."""


def rough(line: str, home: str = "") -> Rough:
    """Take the line apart wherever a command might begin. `home`: what `$HOME` stands for, where that is known.

    Raises:
        ToolFailure: It has more parts than anybody would read.
    """
    joined = _NOTHING.sub("", _FIELD_SEPARATOR.sub(" ", _CONTINUED.sub("", line)))
    variants = [_REDIRECT.sub(" ", joined)]
    if _EXPANDED_COMMAS.search(joined):
        variants.append(_EXPANDED_COMMAS.sub(lambda found: found.group()[1:-1].replace(",", " "), variants[0]))
    pieces: dict[str, Piece] = {}
    for text in (_without_reserved(part) for variant in variants for part in _BREAK.split(variant)):
        if text not in pieces and _words(text) and not text.startswith("#"):
            pieces[text] = _piece(text)
        if len(pieces) > MAX_PIECES:
            raise ToolFailure(f"the line holds more than {MAX_PIECES} commands; put them into a script, or give them one by one")
    return Rough(pieces=tuple(pieces.values()), words=_all_words(joined, home))


def _without_reserved(part: str) -> str:
    """A part without the words of the shell's own grammar in front; empty where nothing else is in it."""
    text = part.strip()
    while text and (word := text.split(maxsplit=1)[0]) in RESERVED and word != "time":
        text = text[len(word) :].strip()
    return text


def _piece(text: str) -> Piece:
    words = _words(text)
    return Piece(text=text, forms=peeled(words).forms if words else ())


def _all_words(joined: str, home: str) -> tuple[str, ...]:
    known = _HOME.sub(lambda _: home, joined) if home else joined
    targets = [_unquoted(found.group(1)) for found in _REDIRECT.finditer(known)]
    return tuple(dict.fromkeys((*targets, *(word for part in _BREAK.split(known) for word in _words(part)))))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split() if (word := _unquoted(part)))


def _unquoted(text: str) -> str:
    return text.translate(_QUOTING)
