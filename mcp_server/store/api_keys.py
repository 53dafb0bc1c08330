"""Keys that machines call with, as far as they are kept: never the key itself, a digest alone.

A part of `Store`, held by `tests/store/test_conformance_api_keys.py`. What is handed out may be
replaced (rotated); who is known by it stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.records import AuditEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One machine's key. Its id outlives every secret that was handed out for it, and is never used again after it was revoked."""

    id: str
    name: str
    """Of all keys that are not revoked, one alone has it."""
    scopes: tuple[str, ...]
    created_at: float
    expires_at: float | None
    revoked_at: float | None = None
    used_at: float | None = None
    """As far as it was noted."""

    def counts(self, now: float) -> bool:
        """Is it neither revoked nor at its end?"""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldKey:
    """A key as the holder of one of its secrets has it."""

    key: ApiKey
    until: float | None
    """When this secret ends; None: with the key."""


class ApiKeys(Protocol):
    """The part of a store that keeps keys. What it raises is what `Store` raises."""

    async def add_api_key(self, key: ApiKey, digest: str, events: Sequence[AuditEvent] = ()) -> None:
        """With its first secret. A name that another living key has is an error."""
        ...

    async def api_keys(self) -> tuple[ApiKey, ...]:
        """All of them, the revoked too, oldest first."""
        ...

    async def held_api_key(self, digest: str) -> HeldKey | None:
        """Whose secret it is, whether or not it still counts."""
        ...

    async def rotate_api_key(
        self, key_id: str, digest: str, *, now: float, old_until: float, expires_at: float | None, events: Sequence[AuditEvent] = ()
    ) -> bool:
        """Another secret, and a new end of the key; those before end at `old_until` or where they would have ended sooner. False, and
        nothing written, where it is revoked or unknown.
        """
        ...

    async def revoke_api_key(self, key_id: str, *, now: float, events: Sequence[AuditEvent] = ()) -> bool:
        """It counts no more, with all its secrets. False, and nothing written, where it is revoked already or unknown."""
        ...

    async def use_api_key(self, key_id: str, *, now: float) -> None:
        """Note when it was used last. Not synced: to lose it does no harm."""
        ...
