"""Put a patch's hunks into a file's content: pure. The file's own line ends, odd bytes and lines that stay are kept as they are."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp_server.errors import ToolFailure
from mcp_server.tools.patch.reading import Hunk

_AS_PLAIN = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("“”„‟", '"') | {"\xa0": " "})
"""What models write for what a file holds, and the other way round."""


def _exact(line: str) -> str:
    return line


def _squeezed(line: str) -> str:
    return line.strip().translate(_AS_PLAIN)


LEVELS: tuple[Callable[[str], str], ...] = (_exact, str.rstrip, str.strip, _squeezed)
"""How lines are compared, strictest first; the first level with a match is the one that counts."""


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    end: str
    """`\\n`, `\\r\\n`, or nothing at the end of a file without a last line end."""


@dataclass(frozen=True, slots=True)
class _Splice:
    start: int
    stop: int
    rows: tuple[_Row, ...]


def patched(content: bytes, hunks: Sequence[Hunk], name: str, *, hints: bool) -> bytes:
    """The content with every hunk in its place.

    Args:
        content: The file as it is.
        hunks: In the order in which their places stand in the file.
        name: The file's, for failures.
        hints: May the texts of failures show what the file holds?

    Raises:
        ToolFailure: A hunk has no place, or more than one.
    """
    bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    raw = content[len(bom) :].decode(errors="surrogateescape")
    file = _File(raw, name, hints=hints)
    splices: list[_Splice] = []
    for number, hunk in enumerate(hunks, 1):
        splices.append(file.place(hunk, number, splices[-1].stop if splices else 0))
    return bom + _joined(file.rows, splices, file.end, final=not raw or raw.endswith("\n")).encode(errors="surrogateescape")


class _File:
    """A file's lines, and what they are when compared less strictly."""

    def __init__(self, raw: str, name: str, *, hints: bool) -> None:
        self.rows = _rows(raw)
        crlf = raw.count("\r\n")
        self.end = "\r\n" if crlf > 0 and crlf * 2 >= raw.count("\n") else "\n"
        self._name = name
        self._hints = hints
        self._compared: dict[Callable[[str], str], str] = {}

    def place(self, hunk: Hunk, number: int, start: int) -> _Splice:
        """What the hunk replaces, from line `start` on."""
        for anchor in hunk.anchors:
            start = self._behind(anchor, number, start)
        old = [line.text for line in hunk.lines if line.sign != "+"]
        if not old:
            at = start if hunk.anchors and not hunk.at_end else len(self.rows)
            return _Splice(at, at, self._new(hunk, at))
        found = self._found(old, start, at_end=hunk.at_end)
        if not found:
            raise ToolFailure(self._nowhere(old, number, start))
        if len(found) > 1 and not hunk.anchors:
            places = ", ".join(str(at + 1) for at in found)
            raise ToolFailure(
                f"hunk {number} of {self._name} fits more than one place (lines {places}, …); nothing was changed: "
                "add more of the lines around it, or an @@ line that stands before it"
            )
        return _Splice(found[0], found[0] + len(old), self._new(hunk, found[0]))

    def _new(self, hunk: Hunk, at: int) -> tuple[_Row, ...]:
        made: list[_Row] = []
        for line in hunk.lines:
            if line.sign == "+":
                made.append(_Row(_text(line.text), self.end))
                continue
            if line.sign == " ":
                made.append(self.rows[at])
            at += 1
        return tuple(made)

    def _behind(self, anchor: str, number: int, start: int) -> int:
        found = self._found([anchor], start, at_end=False)
        if not found:
            raise ToolFailure(f"hunk {number} of {self._name}: no line reads `{anchor[:200]}`{_after(start)}; nothing was changed")
        return found[0] + 1

    def _found(self, old: Sequence[str], start: int, *, at_end: bool) -> list[int]:
        """Where the lines stand, at the strictest level that finds them; at most three places."""
        for level in LEVELS:
            text = self._text_at(level)
            sought = "\n" + "".join(f"{level(line)}\n" for line in old)
            places: list[int] = []
            at, line = text.find(sought), 0
            counted = 0
            while at >= 0 and len(places) < 3:
                line += text.count("\n", counted, at)
                counted = at
                if line >= start and (not at_end or line + len(old) == len(self.rows)):
                    places.append(line)
                at = text.find(sought, at + 1)
            if places:
                return places
        return []

    def _text_at(self, level: Callable[[str], str]) -> str:
        """All lines at a level, each with a line feed before and after it."""
        if level not in self._compared:
            self._compared[level] = "\n" + "".join(f"{level(row.text)}\n" for row in self.rows)
        return self._compared[level]

    def _nowhere(self, old: Sequence[str], number: int, start: int) -> str:
        problem = f"hunk {number} of {self._name}: its lines that stay or go are not in the file{_after(start)}; nothing was changed"
        if start and self._found(old, 0, at_end=False):
            return f"{problem}: they stand before that; give hunks in the order of the file"
        first = next((line for line in old if line.strip()), None)
        near = self._found([first], 0, at_end=False) if first is not None and self._hints else []
        hint = f" (its line `{(first or '')[:100]}` is line {near[0] + 1})" if near else ""
        return f"{problem}{hint}: read the file again and copy them exactly"


def _rows(raw: str) -> list[_Row]:
    pieces = raw.split("\n")
    rows = [_Row(piece[:-1], "\r\n") if piece.endswith("\r") else _Row(piece, "\n") for piece in pieces[:-1]]
    return [*rows, _Row(pieces[-1], "")] if pieces[-1] else rows


def _joined(rows: Sequence[_Row], splices: Sequence[_Splice], end: str, *, final: bool) -> str:
    """The rows with the splices in, a line end after each but, where the file had none there, the last."""
    out: list[_Row] = []
    done = 0
    for splice in splices:
        out += [*rows[done : splice.start], *splice.rows]
        done = splice.stop
    out += rows[done:]
    lines = [row.text + (row.end or end) for row in out]
    if lines and not final:
        lines[-1] = out[-1].text
    return "".join(lines)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailure("the patch is not valid Unicode text") from None
    return text


def _after(start: int) -> str:
    return f" after line {start}" if start else ""
