"""Texts of other servers, fit to be passed on: bounded, and with nothing in them that steers a terminal or hides."""

import re

_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0080-\U000e0fff"
)
_HIDING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|[{_UNSEEN}]{{3,}}")
"""Control characters but for tabs and line ends, marks that turn the direction of text, and letters that exist to tag others unseen; and
three or more of the marks in a row that take no place: one or two join letters or choose an emoji, more hide a text.
"""

CUT = " […]"


def cleaned(text: str) -> str:
    """The text, with a question mark in a box in place of each character that it must not hold."""
    return _HIDING.sub("\ufffd", text.replace("\r\n", "\n"))


def in_line(text: str, longest: int) -> str:
    """On one line, no longer than that."""
    line = " ".join(cleaned(text).split())
    return line if len(line) <= longest else f"{line[: longest - len(CUT)]}{CUT}"


def within(text: str, most: int) -> str:
    """Cleaned, and at most so many bytes of UTF-8."""
    whole = cleaned(text)
    if len(whole.encode(errors="replace")) <= most:
        return whole
    return whole.encode(errors="replace")[: most - len(CUT.encode())].decode(errors="ignore") + CUT
