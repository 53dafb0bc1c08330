"""`python -m tests.crowds [VISITS [SEED]]`: a campaign. One of 5,000 visits and more is written down in docs/campaigns.md."""

import secrets
import sys
import tempfile
import time
from pathlib import Path

import anyio

from tests.crowds.campaign import WARM, Tally, campaign

PAGE = Path(__file__).parents[2] / "docs" / "campaigns.md"

WRITTEN = 5_000
"""Visits from which on a campaign is worth keeping."""

HEADING = "## People who come and go"
RULE = "|---|---|---|---|---|---|\n"


def main() -> None:
    """Run it, and tell."""
    visits = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(10**9)
    with tempfile.TemporaryDirectory() as folder:
        tally = anyio.run(campaign, Path(folder), visits, seed, _say)
    for line in tally.wrong:
        _say(f"wrong: {line}")
    _say(f"seed {seed}: {visits} visits; {_held(tally)}; {len(tally.wrong)} wrong, {tally.late} too late")
    if visits >= WRITTEN:
        _write_down(visits, seed, tally)
    sys.exit(1 if tally.wrong else 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _held(tally: Tally) -> str:
    warm = tally.looks[min(WARM, len(tally.looks)) - 1]["kilobytes"] // 1000
    most = max(look["kilobytes"] for look in tally.looks) // 1000
    gone = ", ".join(f"{tally.gone[name]} {name}" for name in ("sessions", "processes", "tasks", "descriptors"))
    return f"{warm} MB when warm, {most} MB at most, {tally.gone['kilobytes'] // 1000} MB at the end; left: {gone}"


def _write_down(visits: int, seed: int, tally: Tally) -> None:
    command = f"`python -m tests.crowds {visits} {seed}`"
    row = f"| {time.strftime('%Y-%m-%d')} | {command} | {seed} | {visits} visits | {_held(tally)} | {len(tally.wrong)} |\n"
    before, heading, section = PAGE.read_text("utf-8").partition(HEADING)
    head, rule, rows = section.partition(RULE)
    PAGE.write_text(f"{before}{heading}{head}{rule}{row}{rows}", "utf-8")


if __name__ == "__main__":
    main()
