"""Text as a person can be shown it: nothing in it hides, moves or pretends."""

import json

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
"""Letters and marks that count as printable and show nothing."""


def visible(text: str) -> str:
    """The text on one line: what does not print, line breaks, direction marks and blank letters included, is written as an escape.

    Where there is one, backslashes of the text are doubled, so that nobody can write what looks like an escape.
    """
    if all(map(_shows, text)):
        return text
    return "".join(character if _shows(character) and character != "\\" else json.dumps(character)[1:-1] for character in text)


def _shows(character: str) -> bool:
    return character.isprintable() and character not in _BLANK
