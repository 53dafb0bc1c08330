"""Replace text in a file's content: pure, and the file's own line ends and odd bytes are kept."""

import bisect
import codecs
import re
from dataclasses import dataclass

from mcp_server.errors import ToolFailure

MAX_LISTED = 10
"""Matches named by line when there are too many; enough to pick one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A new content and how it came about."""

    content: bytes
    count: int


def replaced(content: bytes, old: str, new: str, *, everywhere: bool, hints: bool) -> Edited:
    """The content with `old` replaced once, or everywhere.

    Line ends are compared as equal; what is put in gets the file's own. Bytes that are not UTF-8 stay as they are.
    `hints`: may the texts of failures show what the file holds?

    Raises:
        ToolFailure: There is not exactly one match, and `everywhere` was not asked for; or none at all.
    """
    bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    raw = content[len(bom) :].decode(errors="surrogateescape")
    plain, old, new = _line_feeds(raw), _line_feeds(_text(old, "oldString")), _line_feeds(_text(new, "newString"))
    starts = _matches(plain, old)
    if not starts:
        raise ToolFailure(_not_found(plain, old) if hints else "oldString is not in the file")
    if len(starts) > 1 and not everywhere:
        lines = ", ".join(str(plain.count("\n", 0, start) + 1) for start in starts[:MAX_LISTED])
        raise ToolFailure(
            f"oldString matches {len(starts)} times (lines {lines}{', …' if len(starts) > MAX_LISTED else ''}); "
            "nothing was changed: add more of the text around the one you mean, or set replaceAll"
        )
    put = new.replace("\n", "\r\n") if _mostly_crlf(raw) else new
    crlf = _crlf_places(raw)
    out: list[str] = []
    done = 0
    for start in starts:
        out += raw[done : _raw(crlf, start)], put
        done = _raw(crlf, start + len(old))
    out.append(raw[done:])
    return Edited(content=bom + "".join(out).encode(errors="surrogateescape"), count=len(starts))


def _text(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{name} is not valid Unicode text") from None
    return text


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


def _mostly_crlf(raw: str) -> bool:
    crlf = raw.count("\r\n")
    return crlf > 0 and crlf * 2 >= raw.count("\n")


def _crlf_places(raw: str) -> list[int]:
    """Where, in the text with line feeds only, each line feed stands that was CRLF."""
    return [found.start() - index for index, found in enumerate(re.finditer("\r\n", raw))]


def _raw(crlf: list[int], place: int) -> int:
    """A place of the text with line feeds only, in the raw text."""
    return place + bisect.bisect_left(crlf, place)


def _matches(text: str, old: str) -> list[int]:
    starts: list[int] = []
    at = text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + len(old))
    return starts


def _not_found(text: str, old: str) -> str:
    if re.search(r"^\d+: ", old, re.MULTILINE) and _matches(text, re.sub(r"^\d+: ", "", old, flags=re.MULTILINE)):
        return "oldString is not in the file: leave out the line numbers that read puts before each line"
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    squeezed = [_squeezed(line) for line in lines]
    target = [_squeezed(line) for line in wanted]
    for index in range(len(lines) - len(target) + 1):
        if squeezed[index : index + len(target)] == target:
            theirs = "\n".join(lines[index : index + len(target)])
            return f"oldString is not in the file; line {index + 1} differs only in white space. It reads:\n{_safe(theirs[:2000])}"
    first = next((line for line in target if line), "")
    near = [str(index + 1) for index, line in enumerate(squeezed) if first and first in line][:3]
    hint = f"; its first line is like line {' and '.join(near)}" if near else ""
    return f"oldString is not in the file{hint}; read the file again and copy the text exactly, white space included"


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _safe(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")
