"""How long reading a line takes, alone and with the second parser's opinion.

The lines are the everyday ones of the tests, each in turn, over and over; of each the best time counts, so that a busy machine
does not.
"""

import statistics
import time
from pathlib import Path

import yaml

from benchmarks.measuring import Figure, words
from mcp_server.shell.reading import read_line
from mcp_server.shell.second import forget

ROUNDS, WITH_SECOND = 20, 5
LINES = Path(__file__).parents[1] / "tests" / "shell" / "everyday.yaml"
ALONE_TARGET, SECOND_TARGET = 100e-6, 4e-3


def figures() -> list[Figure]:
    """Both."""
    groups = yaml.safe_load(LINES.read_text(encoding="utf-8"))["groups"]
    lines = [command for group in groups for command in group["commands"]]
    alone, both = _best(lines, second=False, rounds=ROUNDS), _best(lines, second=True, rounds=WITH_SECOND)
    how = f"{len(lines)} everyday lines; of each the best time"
    alone_met, both_met = _p50(alone) <= ALONE_TARGET, _p50(both) <= SECOND_TARGET
    return [
        Figure(name="reading a line", measured=_told(alone), target="p50 at most 100 µs", met=alone_met, how=how),
        Figure(name="reading a line with the second parser", measured=_told(both), target="at most 4 ms", met=both_met, how=how),
    ]


def _best(lines: list[str], *, second: bool, rounds: int) -> list[float]:
    best = dict.fromkeys(lines, float("inf"))
    for _ in range(rounds):
        forget()
        for line in lines:
            start = time.perf_counter()
            read_line(line, folder="/workspace", home="/home/person", second=second)
            best[line] = min(best[line], time.perf_counter() - start)
    return sorted(best.values())


def _p50(took: list[float]) -> float:
    return statistics.median(took)


def _told(took: list[float]) -> str:
    return f"p50 {words(_p50(took))}, p95 {words(took[int(len(took) * 0.95)])}, most {words(took[-1])}"
