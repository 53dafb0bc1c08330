"""Text as a person can be shown it: nothing in it hides, moves or pretends."""

import json
from collections.abc import Iterator
from itertools import groupby

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
"""Letters and marks that count as printable and show nothing."""


def visible(text: str) -> str:
    """The text on one line: what does not print, line breaks, direction marks and blank letters included, is written as an escape.

    Where there is one, backslashes of the text are doubled, so that nobody can write what looks like an escape.
    """
    return "".join(piece for piece, _ in pieces(text))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """What `visible` is made of, in order: stretches that show by themselves (False), and escapes in place of what does not (True)."""
    if all(map(_shows, text)):
        yield text, False
        return
    for shows, stretch in groupby(text, _shows):
        plain = "".join(stretch)
        yield (plain.replace("\\", "\\\\"), False) if shows else (json.dumps(plain)[1:-1], True)


def _shows(character: str) -> bool:
    return character.isprintable() and character not in _BLANK


def json_line(value: object) -> str:
    """The value as JSON on one line, with no character that a terminal would obey or hide."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in text)
