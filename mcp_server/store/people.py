"""What issuers said last of each caller of a gateway, as far as settings ask for it: runs go on when no token is at hand.

A part of `Store`, held by `tests/store/test_conformance_people.py`.
"""

from collections.abc import Mapping
from typing import Any, Protocol


class People(Protocol):
    """The part of a store that keeps claims. What it raises is what `Store` raises."""

    async def keep_claims(self, principal: str, claims: Mapping[str, Any], *, issued_at: float) -> None:
        """Keep what a token said, in place of what an older one did. Of one that was issued before the last is kept nothing.

        Args:
            principal: Its key.
            claims: Of JSON's types.
            issued_at: When the issuer said so, in seconds since the epoch.
        """
        ...

    async def claims(self, principal: str) -> Mapping[str, Any]:
        """Empty where nothing was said."""
        ...

    async def everybodys_claims(self) -> Mapping[str, Mapping[str, Any]]:
        """By principal, of all of whom anything was said."""
        ...
