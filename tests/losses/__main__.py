"""`python -m tests.losses [LOSSES [CALLS [SEED]]]`: a campaign. One of 200 losses and more is written down in docs/campaigns.md."""

import secrets
import sys
import tempfile
import time
from pathlib import Path

import anyio

from tests.losses.campaign import Tally, campaign

PAGE = Path(__file__).parents[2] / "docs" / "campaigns.md"

WRITTEN = 200
"""Losses from which on a campaign is worth keeping."""

HEADING = "## Servers behind Remit that are lost"
RULE = "|---|---|---|---|---|---|\n"


def main() -> None:
    """Run it, and tell."""
    losses = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else secrets.randbelow(10**9)
    with tempfile.TemporaryDirectory() as folder:
        tally = anyio.run(campaign, Path(folder).resolve(), losses, calls, seed, _say)
    for line in tally.wrong:
        _say(f"wrong: {line}")
    _say(f"seed {seed}: {tally.lost} losses, {tally.given_up} calls given up; {_held(tally)}; {len(tally.wrong)} wrong")
    if losses >= WRITTEN:
        _write_down(losses, calls, seed, tally)
    sys.exit(1 if tally.wrong else 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _held(tally: Tally) -> str:
    return ", ".join(f"{count} {name} ({tally.before[name]} before)" for name, count in tally.after.items())


def _write_down(losses: int, calls: int, seed: int, tally: Tally) -> None:
    command = f"`python -m tests.losses {losses} {calls} {seed}`"
    tried = f"{tally.lost} losses and reconnects, {tally.given_up:,} calls given up"
    row = f"| {time.strftime('%Y-%m-%d')} | {command} | {seed} | {tried} | {_held(tally)} | {len(tally.wrong)} |\n"
    before, heading, section = PAGE.read_text("utf-8").partition(HEADING)
    head, rule, rows = section.partition(RULE)
    PAGE.write_text(f"{before}{heading}{head}{rule}{row}{rows}", "utf-8")


if __name__ == "__main__":
    main()
