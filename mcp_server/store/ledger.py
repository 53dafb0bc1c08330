"""What was used of models in a day, by account: a person of a gateway by whatever clients, or all of a team. And the places that runs take.

A part of `Store`, held by `tests/store/test_conformance_ledger.py`. Whose account is whose is not its business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


def day_of(at: float) -> str:
    """The day of UTC in which that second lies: `2026-11-30`. `at`: seconds since the epoch."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What is added to each of these accounts."""

    accounts: Sequence[str]
    tokens: int
    """In and out."""
    cost: float
    """US dollars, as far as prices are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUse:
    """What one account has used in one day."""

    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One account of a run: the run counts there until it has ended."""

    account: str
    most: int | None
    """Runs that may count there at once. None: any number."""


class Ledger(Protocol):
    """The part of a store that counts. What it raises is what `Store` raises."""

    async def charge(self, charge: Charge, *, at: float) -> None:
        """Add to the day of `at`. What a run used is added by `save_run`."""
        ...

    async def day_use(self, day: str) -> Mapping[str, DayUse]:
        """All accounts that have used anything in that day."""
        ...

    async def used(self, accounts: Sequence[str], *, day: str) -> Mapping[str, DayUse]:
        """Of these accounts, each; nothing where nothing was used."""
        ...

    async def counted_runs(self) -> Mapping[str, int]:
        """How many runs that have not ended count at each account that has any."""
        ...

    async def drop_use(self, *, before: str) -> int:
        """Remove the days before that one. Returns how many rows went."""
        ...
