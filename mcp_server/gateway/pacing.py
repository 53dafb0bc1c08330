"""How many requests the people of a gateway may make: in any 60 seconds, each by whatever clients, and all of a team together.

Counted in memory, by each server process for itself. What asks for something counts, and the opening of a stream. Answers, notifications
and the end of a session pass: turned away, they would leave something going on that is over.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.gateway.reception import RECEIVED
from mcp_server.gateway.requests import NAMED, Named
from mcp_server.gateway.turning_away import not_now
from mcp_server.sessions.allowance import Account, LimitUse, accounts_for
from mcp_server.sessions.front import Caller
from mcp_server.telemetry.base import LimitTold, Telemetry

TOO_MANY = 429

SOON = 1.0
"""Seconds that a client is told to wait at least: the header has whole ones."""


class Limiter(Protocol):
    """Counts in windows that move along: the part of `limits.strategies.RateLimiter` that is used."""

    def hit(self, item: Any, *identifiers: str) -> bool: ...
    def test(self, item: Any, *identifiers: str) -> bool: ...
    def get_window_stats(self, item: Any, *identifiers: str) -> Any: ...


@dataclass(slots=True)
class Pace:
    """What was asked in the last 60 seconds, by account."""

    _kept: tuple[Limiter, Callable[[int], Any]] | None = None

    def over(self, accounts: Sequence[Account]) -> tuple[Account, float] | None:
        """Count one more request: None. Or the account that has no more, and the seconds until it has; then nothing is counted."""
        bound = [(account, account.quota.requests_per_minute) for account in accounts if account.quota.requests_per_minute is not None]
        if not bound:
            return None
        limiter, item_of = self._limiter()
        for account, most in bound:
            if not limiter.test(item_of(most), account.key):
                return account, max(SOON, limiter.get_window_stats(item_of(most), account.key).reset_time - time.time())
        for account, most in bound:
            limiter.hit(item_of(most), account.key)
        return None

    def _limiter(self) -> tuple[Limiter, Callable[[int], Any]]:
        if self._kept is None:
            from limits import RateLimitItemPerMinute  # noqa: PLC0415 - a fifth of a second, and few gateways have such a limit
            from limits.storage import MemoryStorage  # noqa: PLC0415 - likewise
            from limits.strategies import MovingWindowRateLimiter  # noqa: PLC0415 - likewise

            self._kept = (MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerMinute)
        return self._kept


class Paced:
    """Behind the reception, which has put a `Caller` into the scope: turns away who asks too often."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry
        self._pace = Pace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        named: Named | None = scope.get(NAMED)
        caller: Caller = scope[RECEIVED]
        asks = scope["method"] == "GET" if named is None else named.asks
        over = self._pace.over(accounts_for(caller.principal, caller.membership)) if asks else None
        if over is None:
            await self._app(scope, receive, send)
            return
        account, seconds = over
        self._telemetry.limited(LimitTold(limit="requests_per_minute", shared_by="team" if account.team else "person", team=account.team))
        most = account.quota.requests_per_minute or 0
        words = LimitUse(account=account, limit="requests_per_minute", most=most, used=None).words
        await not_now(named, TOO_MANY, f"Too many requests: {words}. Nothing was done; ask again in {math.ceil(seconds)} s.", seconds)(
            scope, receive, send
        )
