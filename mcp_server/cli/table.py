"""Plain tables for people: columns padded to their widest cell, cut to the terminal's width where there is one."""

import shutil
import sys
import unicodedata
from collections.abc import Sequence

from mcp_server.sessions.visible import visible

GAP = "  "
NARROWEST = 60
"""Below this a table is not cut: lines wrap, but nothing is lost."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The rows under their heads. The last column takes what room is left.

    In a pipe nothing is cut. Control characters are shown, never sent to the terminal.
    """
    cells = [tuple(heads), *(tuple(plain(cell) for cell in row) for row in rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(heads))]
    lines = [GAP.join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    return "\n".join(cut(line, room) if room >= NARROWEST else line for line in lines)


def plain(text: str) -> str:
    """The text on one line, with no character that a terminal would obey or hide."""
    return visible(text.replace("\n", "⏎").replace("\t", " "))


def safe(text: str) -> str:
    """The text with its lines, and no other character that a terminal would obey or hide."""
    return "\n".join(plain(line) for line in text.split("\n"))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def cut(line: str, room: int) -> str:
    """The line, and an ellipsis in place of what `room` columns do not hold."""
    if _width(line) <= room:
        return line
    kept = ""
    for character in line:
        if _width(kept + character) > room - 1:
            break
        kept += character
    return kept + "…"
