"""What the reader sees of a line against what bash does with it: no command and no written path may be missed.

`python -m tests.shell.test_differential` runs many more lines and writes down what came of them.
"""

import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.shell.reading import read_line
from tests.campaign import FACTOR
from tests.shell.differing import Tally, campaign, compared
from tests.shell.executing import executed, laid_out

SEEDS = (20, 21)
LINES = 250
"""Each seed's on an ordinary day: a few seconds."""

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@needs_bash
@pytest.mark.parametrize("seed", SEEDS)
def test_no_command_and_no_written_path_is_missed(seed: int, tmp_path: Path) -> None:
    tally = campaign(seed if FACTOR == 1 else time.time_ns(), LINES * FACTOR, tmp_path / "lines")
    assert tally.missed == []
    assert tally.runs > LINES / 4
    assert tally.changes > LINES / 4
    assert tally.opaque < tally.lines * 0.6


@needs_bash
def test_a_reader_that_misses_something_is_found_out(tmp_path: Path) -> None:
    lines = ["foo a; bar b", "foo > n1", "cd sub && touch x", "echo x | tee n2", "timeout 5 foo"]
    places = laid_out(lines, tmp_path)
    readings = [read_line("true", folder=str(place)) for place in places]
    for done, reading in zip(executed(lines, tmp_path), readings, strict=True):
        tally = Tally()
        compared(done, replace(reading, writes=()), tally)
        assert tally.missed, done.line


def main() -> int:
    """Run so many lines from a seed, and write down what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        tally = campaign(seed, count, Path(folder) / "lines")
    for line in tally.missed:
        sys.stdout.write(f"{line}\n")
    report = Path(__file__).parents[2] / "docs" / "campaigns.md"
    command = f"python -m tests.shell.test_differential {count} {seed}"
    tried = f"{tally.lines:,} lines ({tally.opaque / tally.lines:.0%} opaque), {tally.runs:,} programs run, {tally.changes:,} paths changed"
    row = f"| {time.strftime('%Y-%m-%d')} | `{command}` | {seed} | {tried} | {len(tally.missed)} |\n"
    text = report.read_text(encoding="utf-8") if report.exists() else HEAD
    report.write_text(text + row, encoding="utf-8")
    sys.stdout.write(row)
    return min(len(tally.missed), 1)


HEAD = """# Campaigns

Long random searches, as they were run. What one finds becomes a test; the column on the right counts what it found.

| date | command | seed | tried | found |
|---|---|---|---|---|
"""

if __name__ == "__main__":
    sys.exit(main())
