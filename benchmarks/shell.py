"""How long reading a line takes, alone and with the second parser's opinion.

    python -m benchmarks.shell

The lines are the everyday ones of the tests, each in turn, over and over; of each the best time counts, so that a busy machine
does not. Microseconds.
"""

import statistics
import time
from pathlib import Path

import yaml

from mcp_server.shell.reading import read_line
from mcp_server.shell.second import forget

ROUNDS = 20
LINES = Path(__file__).parents[1] / "tests" / "shell" / "everyday.yaml"


def main() -> None:
    """Measure and print."""
    groups = yaml.safe_load(LINES.read_text(encoding="utf-8"))["groups"]
    lines = [command for group in groups for command in group["commands"]]
    for words, second, rounds in (("reading", False, ROUNDS), ("with the second parser", True, 5)):
        best = dict.fromkeys(lines, float("inf"))
        for _ in range(rounds):
            forget()
            for line in lines:
                start = time.perf_counter()
                read_line(line, folder="/workspace", home="/home/person", second=second)
                best[line] = min(best[line], (time.perf_counter() - start) * 1e6)
        took = sorted(best.values())
        told = f"p50 {statistics.median(took):.0f}, p95 {took[int(len(took) * 0.95)]:.0f}, most {took[-1]:.0f}"
        print(f"{words}: {told} us over {len(took):,} lines")  # noqa: T201 - a benchmark prints


if __name__ == "__main__":
    main()
