"""The tokens that callers of a gateway came with last, for exchanging them. In memory alone, and only where settings exchange any."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_server.principal import owner_of

MOST = 10_000
"""People of whom one is held. The one held longest gives way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    token: str = field(repr=False)
    expires_at: float | None


class Subjects:
    """Those of one process.

    Args:
        wanted: Are there servers that tokens are exchanged for?
        clock: Seconds since the epoch.
    """

    def __init__(self, wanted: Callable[[], bool], clock: Callable[[], float]) -> None:
        self._wanted = wanted
        self._clock = clock
        self._held: dict[str, _Held] = {}

    def came(self, principal: str, token: str, expires_at: float | None) -> None:
        """Somebody came with a token that counts.

        Args:
            principal: Their key.
            token: As it came.
            expires_at: Seconds since the epoch; None: not known.
        """
        if not self._wanted():
            self._held.clear()
            return
        owner = owner_of(principal)
        self._held.pop(owner, None)
        while len(self._held) >= MOST:
            del self._held[next(iter(self._held))]
        self._held[owner] = _Held(token=token, expires_at=expires_at)

    def of(self, owner: str) -> str | None:
        """By what `owner_of` has; None: none that still counts."""
        held = self._held.get(owner)
        if held is None:
            return None
        if held.expires_at is not None and held.expires_at <= self._clock():
            del self._held[owner]
            return None
        return held.token
