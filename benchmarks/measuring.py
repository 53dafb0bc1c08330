"""Measuring two things against each other: short rounds taken by turns, so that whatever else the machine does meets both alike.

Times are CPU time of this process unless a name says otherwise: another program that runs beside does not count.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured line of the report."""

    name: str
    measured: str
    target: str
    """Empty: none was set."""
    met: bool | None
    """None: there is nothing to meet."""
    how: str
    """What was compared, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Times of one thing, in seconds."""

    times: tuple[float, ...]

    @property
    def p50(self) -> float:
        return statistics.median(self.times)

    @property
    def least(self) -> float:
        return min(self.times)


def by_turns(
    acts: Mapping[str, Callable[[], object]], *, rounds: int, each: Mapping[str, int], clock: Clock = time.process_time
) -> dict[str, Spread]:
    """Each act's time, `each` times a round. Warmed up by one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in acts}
    for round_ in range(rounds + 1):
        for name, act in acts.items():
            count = each[name]
            begun = clock()
            for _ in range(count):
                act()
            if round_:
                times[name].append((clock() - begun) / count)
    return {name: Spread(times=tuple(taken)) for name, taken in times.items()}


def spread(times: Sequence[float]) -> Spread:
    """Times that were taken elsewhere."""
    return Spread(times=tuple(times))


def words(seconds: float) -> str:
    """A time for people."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
