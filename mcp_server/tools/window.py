"""A window of lines out of a text file of any size, read in steps so that a large one is never held whole."""

import codecs
import hashlib
from dataclasses import dataclass

MAX_LINES = 2000
"""Lines a read, where no limit is given, and at most."""

MAX_LINE = 2000
"""Characters of one line; minified files have lines of megabytes."""

MAX_SHOWN = 50 * 1024
"""Bytes of lines a read."""

WHOLE = 10 * 1024 * 1024
"""Bytes up to which a file is read to its end, for the number of lines and the digest. Larger ones stop after the window."""

_LINE_BYTES = MAX_LINE * 4 + 4
"""Enough for one character more than `MAX_LINE`, whatever it is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What was read."""

    lines: tuple[str, ...]
    first: int
    """The number of the first line, from 1."""
    more: bool
    """Lines follow."""
    total: int | None
    """Lines of the file; None where its end was not reached."""
    digest: str | None
    """SHA-256 of the whole file; None where its end was not reached."""
    notes: tuple[str, ...]
    """What was not shown as it stands in the file."""


class Scan:
    """Takes a file's bytes in order; `enough` says when to stop."""

    def __init__(self, *, first: int, limit: int, size: int) -> None:
        self._first = first
        self._stop = first + limit
        self._short = size <= WHOLE
        self._line = 1
        self._partial = bytearray()
        self._length = 0
        self._lines: list[str] = []
        self._shown = 0
        self._full = False
        self.seen = 0
        """Bytes taken so far."""
        self._ends_with_newline = True
        self._digest = hashlib.sha256()
        self._oddities: set[str] = set()

    @property
    def enough(self) -> bool:
        """The window is full, and the file too large to be read on for its digest."""
        return self._done and not self._short

    @property
    def _done(self) -> bool:
        return self._full or self._line >= self._stop

    def add(self, data: bytes) -> None:
        """The next bytes; none at the file's end."""
        if not data:
            return
        self.seen += len(data)
        self._ends_with_newline = data.endswith(b"\n")
        if self._short:
            self._digest.update(data)
        ends = data.count(b"\n")
        if self._done or (self._line + ends < self._first):
            self._line += ends
            return
        if not self._partial and data.isascii() and b"\r" not in data and b"\0" not in data:
            self._add_plain(data.decode("ascii"))
            return
        pieces = data.split(b"\n")
        for piece in pieces[:-1]:
            self._extend(piece)
            self._end_line()
        self._extend(pieces[-1])

    def _add_plain(self, data: str) -> None:
        """What begins at a line's beginning and needs no care: the same, sooner."""
        *whole, rest = data.split("\n")
        for text in whole:
            if not self._done and self._line >= self._first:
                shown = text if len(text) <= MAX_LINE else _cut(text, len(text))
                self._keep(shown, len(shown) if shown is text else len(shown.encode()))
            self._line += 1
        self._extend(rest.encode())

    def finish(self, *, at_end: bool) -> Window:
        """The window. `at_end`: the file held nothing more."""
        unfinished = at_end and self.seen > 0 and not self._ends_with_newline
        if unfinished and not self._done:
            self._end_line()
        elif unfinished:
            self._line += 1
        total = self._line - 1 if at_end else None
        last = self._first + len(self._lines) - 1
        return Window(
            lines=tuple(self._lines),
            first=self._first,
            more=total is None or last < total,
            total=total,
            digest=self._digest.hexdigest() if at_end and self._short else None,
            notes=tuple(sorted(self._oddities)),
        )

    def _extend(self, piece: bytes) -> None:
        if self._done or self._line < self._first:
            return
        self._length += len(piece)
        self._partial += piece[: max(0, _LINE_BYTES - len(self._partial))]

    def _end_line(self) -> None:
        if not self._done and self._line >= self._first:
            text = self._decoded()
            self._keep(text, len(text.encode()))
        self._line += 1
        self._partial.clear()
        self._length = 0

    def _keep(self, text: str, size: int) -> None:
        """One line more, of that many bytes."""
        if self._lines and self._shown + size + 1 > MAX_SHOWN:
            self._full = True
            return
        self._shown += size + 1
        self._lines.append(text)

    def _decoded(self) -> str:
        data = bytes(self._partial)
        whole = self._length == len(data)
        if self._line == 1 and data.startswith(codecs.BOM_UTF8):
            data = data[3:]
            self._oddities.add("the file begins with a byte order mark, which edit and write keep")
        if data.endswith(b"\r") and whole:
            data = data[:-1]
            self._oddities.add("lines end in CRLF, which edit keeps")
        try:
            text, _ = codecs.utf_8_decode(data, "strict", whole)
        except UnicodeDecodeError:
            text = data.decode(errors="replace")
            self._oddities.add("bytes that are not UTF-8 are shown as \ufffd")
        if "\0" in text:
            text = text.replace("\0", "\ufffd")
            self._oddities.add("NUL characters are shown as \ufffd")
        return text if len(text) <= MAX_LINE else _cut(text, self._length)


def _cut(text: str, length: int) -> str:
    return f"{text[:MAX_LINE]}… (line cut, {length:,} bytes long)"
