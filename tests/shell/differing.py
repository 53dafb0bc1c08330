"""Compares what the reader saw in a line with what bash did."""

import os
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue
from mcp_server.shell.model import Touch
from mcp_server.shell.reading import Reading, read_line
from mcp_server.tools.bash_asking import matching
from tests.shell.executing import Done, executed, laid_out
from tests.shell.lines import Lines

BATCH = 500
"""Lines a start of bash."""

_NOT_KNOWN = re.compile(r"[$*…]|\{\}|<\(")


@dataclass(slots=True)
class Tally:
    """What came of many lines."""

    lines: int = 0
    opaque: int = 0
    refused: int = 0
    runs: int = 0
    changes: int = 0
    missed: list[str] = field(default_factory=list[str])


def campaign(seed: int, count: int, folder: Path) -> Tally:
    """Try so many lines."""
    made = Lines(seed)
    tally = Tally()
    while tally.lines < count:
        lines = [made.line() for _ in range(min(BATCH, count - tally.lines))]
        places = laid_out(lines, folder)
        # Patterns are looked up as the folders are before the lines run.
        readings = [_read(line, str(place), folder) for line, place in zip(lines, places, strict=True)]
        for done, reading in zip(executed(lines, folder), readings, strict=True):
            compared(done, reading, tally)
    return tally


def _read(line: str, place: str, folder: Path) -> Reading | None:
    try:
        return read_line(line, folder=place, home=str(folder / "home"), expand=matching)
    except ToolFailure:
        return None


def compared(done: Done, reading: Reading | None, tally: Tally) -> None:
    """Count one line."""
    tally.lines += 1
    if reading is None:
        tally.refused += 1
        return
    if any(value.opaque for value in reading.commands):
        tally.opaque += 1
        return
    for run in done.runs:
        tally.runs += 1
        if not any(_stands_for(value, run.words) for value in reading.commands):
            _miss(tally, done, f"ran {run.words}", reading)
    for path in done.changed:
        tally.changes += 1
        if not any(_covers(touch, path) for touch in reading.writes):
            _miss(tally, done, f"changed {path}", reading)


def _miss(tally: Tally, done: Done, what: str, reading: Reading) -> None:
    tally.missed.append(f"{done.line!r}: {what}, seen: {[v.text for v in reading.commands]} {[t.text for t in reading.writes]}")


def _stands_for(value: CommandValue, words: tuple[str, ...]) -> bool:
    forms = (value.text, *value.forms)
    if " ".join(words) in forms:
        return True
    # Where a word is not known beforehand, the program is.
    loose = any(_NOT_KNOWN.search(form) for form in forms)
    return loose and any(form.split(" ")[0].strip("\\'\"") == words[0] for form in forms)


def _covers(touch: Touch, path: str) -> bool:
    for folder in touch.folders:
        meant = posixpath.normpath(os.path.join(folder, touch.text))
        real = os.path.realpath(meant)
        if path in (meant, real, f"{meant}/{touch.inside_as}"):
            return True
        # A folder made on the way is part of making what lies in it.
        if meant.startswith(f"{path}/") or (touch.whole and path.startswith((f"{meant}/", f"{real}/"))):
            return True
    return False
