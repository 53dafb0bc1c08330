"""The patch format that Codex made common, from text to values. Pure; which files it meets is not known here.

*** Begin Patch
*** Add File: new.py
+its lines
*** Update File: old.py
*** Move to: moved.py
@@ def somewhere():
a line that stays
-a line that goes
+a line that comes
*** End of File
*** Delete File: gone.py
*** End Patch
"""

import re
from dataclasses import dataclass
from typing import Literal, cast

from mcp_server.errors import ToolFailure

MAX_FILES = 50
"""Files of one patch. A person who is asked reads every name."""

BEGIN, END, END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
ADD, DELETE, UPDATE, MOVE = "*** Add File:", "*** Delete File:", "*** Update File:", "*** Move to:"

_HEREDOC = re.compile(r"""\A(?:apply_patch\s+)?<<\s*(?P<quote>['"]?)(?P<word>\w+)(?P=quote)\n(?P<body>.*)\n(?P=word)\Z""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a hunk."""

    sign: Literal[" ", "-", "+"]
    text: str
    """Without sign and line end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place of a file that changes."""

    anchors: tuple[str, ...]
    """Lines of the file, in order, behind which the place is looked for."""
    lines: tuple[Line, ...]
    at_end: bool
    """What it matches ends the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFile:
    """A file that is not there yet."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """A file that goes."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFile:
    """A file that changes, moves, or both."""

    path: str
    to: str | None
    hunks: tuple[Hunk, ...]


Operation = AddFile | DeleteFile | UpdateFile


def read_patch(text: str) -> tuple[Operation, ...]:
    """What the patch asks for, in its order.

    Raises:
        ToolFailure: It is no patch, with the line that is wrong.
    """
    reader = _Reader(_body(text))
    operations: list[Operation] = []
    while (operation := reader.operation()) is not None:
        operations.append(operation)
    if not operations:
        raise ToolFailure(f"the patch names no file; put `{ADD} path`, `{UPDATE} path` or `{DELETE} path` between {BEGIN} and {END}")
    if len(operations) > MAX_FILES:
        raise ToolFailure(f"the patch names {len(operations)} files; give it in parts of at most {MAX_FILES}")
    return tuple(operations)


def _body(text: str) -> list[str]:
    stripped = text.replace("\r\n", "\n").strip()
    if wrapped := _HEREDOC.match(stripped):
        stripped = wrapped["body"].strip()
    lines = stripped.split("\n")
    if lines[0].rstrip() != BEGIN:
        raise ToolFailure(f"a patch begins with the line `{BEGIN}`; this one begins with `{lines[0][:100]}`")
    if lines[-1].rstrip() != END or len(lines) == 1:
        raise ToolFailure(f"a patch ends with the line `{END}`; this one ends with `{lines[-1][:100]}`: was it cut off?")
    return lines[1:-1]


class _Reader:
    """Walks the lines between begin and end."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def operation(self) -> Operation | None:
        while (line := self._peek()) is not None and not line.strip():
            self._at += 1
        if line is None:
            return None
        if (path := self._header(ADD)) is not None:
            return AddFile(path=path, lines=self._added(path))
        if (path := self._header(DELETE)) is not None:
            return DeleteFile(path=path)
        if (path := self._header(UPDATE)) is not None:
            return self._update(path)
        raise self._wrong(f"begins no file: write `{ADD} path`, `{UPDATE} path` or `{DELETE} path` before it")

    def _update(self, path: str) -> UpdateFile:
        to = self._header(MOVE)
        hunks: list[Hunk] = []
        while (hunk := self._hunk()) is not None:
            hunks.append(hunk)
        if not hunks and to is None:
            raise ToolFailure(f"the patch says nothing of what to change in {path}; nothing was changed")
        return UpdateFile(path=path, to=to, hunks=tuple(hunks))

    def _peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _header(self, word: str) -> str | None:
        line = self._peek()
        if line is None or not line.startswith(word):
            return None
        path = line[len(word) :].strip()
        if not path:
            raise self._wrong("names no path")
        self._at += 1
        return path

    def _added(self, path: str) -> tuple[str, ...]:
        added: list[str] = []
        while (line := self._peek()) is not None and not line.startswith("*** "):
            if line.startswith("+"):
                added.append(line[1:])
            elif line.strip():
                raise self._wrong(f"each line of the new file {path} begins with +")
            self._at += 1
        return tuple(added)

    def _hunk(self) -> Hunk | None:
        anchors: list[str] = []
        marked = False
        while (line := self._peek()) is not None and (line.rstrip() == "@@" or line.startswith("@@ ")):
            marked = True
            if anchor := _anchor(line[2:].strip()):
                anchors.append(anchor)
            self._at += 1
        lines = self._changes()
        at_end = (line := self._peek()) is not None and line.rstrip() == END_OF_FILE
        if at_end:
            self._at += 1
        if not lines:
            if marked or at_end:
                raise self._wrong("ends a hunk without a single line that stays, goes (-) or comes (+)")
            return None
        return Hunk(anchors=tuple(anchors), lines=lines, at_end=at_end)

    def _changes(self) -> tuple[Line, ...]:
        changes: list[Line] = []
        blank = 0
        while (line := self._peek()) is not None and not line.startswith(("@@", "*** ")):
            if line and line[0] not in " +-":
                raise self._wrong("begins with none of `+`, `-` and a space")
            changes.append(Line(sign=cast("Literal[' ', '-', '+']", line[0]) if line else " ", text=line[1:]))
            blank = 0 if line else blank + 1
            self._at += 1
        # Lines without even a space before a header set sections apart; inside a hunk they are empty lines of the file.
        return tuple(changes[: len(changes) - blank])

    def _wrong(self, problem: str) -> ToolFailure:
        line = self._peek()
        shown = f"line {self._at + 2} of the patch, `{line[:100]}`," if line is not None else "the end of the patch"
        return ToolFailure(f"{shown} {problem}; nothing was changed")


def _anchor(text: str) -> str:
    """The line that a hunk's mark names; numbers of a unified diff name none."""
    return re.sub(r"\A-\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?", "", text)
