"""`python -m tests.faults [RUNS [SEED]]`: a campaign. One of 200 runs and more is written down in docs/campaigns.md."""

import secrets
import sys
import time
from pathlib import Path

from tests.faults.campaign import Tally, campaign

PAGE = Path(__file__).parents[2] / "docs" / "campaigns.md"

WRITTEN = 200
"""Runs from which on a campaign is worth keeping."""

HEADING = "## Servers that die"
"""Of the section that holds the table."""

RULE = "|---|---|---|---|---|\n"
"""Below a table's head; new rows come right after it."""


def main() -> None:
    """Run it, and tell."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(10**9)
    tally = campaign(runs, seed)
    for name, side in sorted(tally.points):
        sys.stdout.write(f"  {side or 'amid'}: {name}\n")
    for line in tally.wrong:
        sys.stdout.write(f"wrong: {line}\n")
    sys.stdout.write(f"seed {seed}: {_words(tally)}, {len(tally.wrong)} wrong\n")
    if runs >= WRITTEN:
        _write_down(runs, seed, tally)
    sys.exit(1 if tally.wrong else 0)


def _words(tally: Tally) -> str:
    return f"{tally.runs} runs, {tally.kills} kills and {tally.stops} stops at {len(tally.points)} points"


def _write_down(runs: int, seed: int, tally: Tally) -> None:
    row = f"| {time.strftime('%Y-%m-%d')} | `python -m tests.faults {runs} {seed}` | {seed} | {_words(tally)} | {len(tally.wrong)} |\n"
    before, heading, section = PAGE.read_text("utf-8").partition(HEADING)
    head, rule, rows = section.partition(RULE)
    PAGE.write_text(f"{before}{heading}{head}{rule}{row}{rows}", "utf-8")


if __name__ == "__main__":
    main()
