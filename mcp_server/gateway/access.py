"""Who may come in to this machine's own console: one-time links, and the visits that they open.

A browser sends a cookie to every port of a host, so that a page which an agent serves on this machine could be sent ours. Hence the
door: all pages lie below a path that nobody can guess, and the cookie is sent to that path alone.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_server.gateway.visits import Visit, Visits, digest_of
from mcp_server.principal import LOCAL, Principal

LINK_SECONDS = 600.0
"""How long a link waits to be opened: time to find the browser."""

SILENT_SECONDS = 12 * 3600.0
"""A visit of which nothing was heard for so long is over: a working day."""

MOST_LINKS = 20
"""Unused links at once. The oldest gives way."""


@dataclass(slots=True, kw_only=True)
class Access:
    """The links and visits of one console. Keys are kept as digests: looking one up tells nothing by its time."""

    clock: Callable[[], float]
    door: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    visits: Visits = field(init=False)
    _links: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.visits = Visits(clock=self.clock, silent=SILENT_SECONDS)

    def invite(self) -> str:
        """A new link's token, good once."""
        while len(self._links) >= MOST_LINKS:
            del self._links[next(iter(self._links))]
        token = secrets.token_urlsafe(32)
        self._links[digest_of(token)] = self.clock() + LINK_SECONDS
        return token

    def enter(self, token: str) -> str | None:
        """The cookie of a new visit of this machine's user for a link's token, which is dead from then on.

        None: it was dead before, or never lived.
        """
        until = self._links.pop(digest_of(token), None)
        if until is None or until < self.clock():
            return None
        return self.admit(LOCAL)

    def admit(self, principal: Principal) -> str:
        """The cookie of a new visit of somebody who is known."""
        return self.visits.admit(principal)

    def visit(self, cookie: str | None, *, renews: bool = True) -> Visit | None:
        """As `Visits.visit`."""
        return self.visits.visit(cookie, renews=renews)

    def leave(self, cookie: str | None) -> None:
        """End a visit."""
        self.visits.leave(cookie)
