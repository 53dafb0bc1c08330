"""What people hold for servers behind a gateway, sealed: the store keeps it and cannot read it.

A part of `Store`, held by `tests/store/test_conformance_credentials.py`.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCredential:
    """That there is one, and not what it is."""

    server: str
    """By its name in the settings."""
    kept_at: float
    """Seconds since the epoch."""


class Credentials(Protocol):
    """The part of a store that keeps credentials. What it raises is what `Store` raises."""

    async def keep_credential(self, principal: str, server: str, sealed: bytes, *, now: float) -> None:
        """Keep it in place of what the principal held for that server before."""
        ...

    async def credential(self, principal: str, server: str) -> bytes | None:
        """As it was kept; None where the principal holds nothing for that server."""
        ...

    async def kept_credentials(self, principal: str) -> tuple[KeptCredential, ...]:
        """What the principal holds, by the servers' names."""
        ...

    async def forget_credential(self, principal: str, server: str) -> bool:
        """Remove it. False where there was none."""
        ...
