"""Since when nothing counts that somebody had at a gateway: no token from before, no session, no visit.

A part of `Store`, held by `tests/store/test_conformance_revoked.py`. Who comes anew after it is served as ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.records import AuditEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """One such moment."""

    seq: int
    name: str
    """A principal's key, or what the keys of all programs of one subject begin with."""
    at: float
    """Seconds since the epoch."""


class Revocations(Protocol):
    """The part of a store that keeps them. What it raises is what `Store` raises."""

    async def revoke_all_of(self, name: str, *, at: float, events: Sequence[AuditEvent] = ()) -> None:
        """From now on nothing counts that was given before. `name`: as `Revoked.name`."""
        ...

    async def revoked_at(self, names: Sequence[str]) -> float | None:
        """The latest of any of these names. None: never."""
        ...

    async def revoked_after(self, seq: int) -> tuple[Revoked, ...]:
        """Those that came after that one, oldest first."""
        ...
