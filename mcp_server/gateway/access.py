"""Who may come in: one-time links, and the visits that they open. All of it in memory; nothing outlives the console.

A browser sends a cookie to every port of a host, so that a page which an agent serves on this machine could be sent ours. Hence the
door: all pages lie below a path that nobody can guess, and the cookie is sent to that path alone.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mcp_server.principal import LOCAL, Principal

LINK_SECONDS = 600.0
"""How long a link waits to be opened: time to find the browser."""

SILENT_SECONDS = 12 * 3600.0
"""A visit of which nothing was heard for so long is over: a working day."""

MOST_LINKS = 20
"""Unused links at once. The oldest gives way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One browser that came in."""

    name: str
    """For the log and the audit; opens nothing."""
    principal: Principal
    """Who came in."""
    form_key: str
    """Stands in every form of its pages: proof that a post comes from one of them."""
    heard_at: float


@dataclass(slots=True, kw_only=True)
class Access:
    """The links and visits of one console. Keys are kept as digests: looking one up tells nothing by its time."""

    clock: Callable[[], float]
    door: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _links: dict[str, float] = field(default_factory=dict[str, float])
    _visits: dict[str, Visit] = field(default_factory=dict[str, Visit])
    _opened: int = 0

    def invite(self) -> str:
        """A new link's token, good once."""
        while len(self._links) >= MOST_LINKS:
            del self._links[next(iter(self._links))]
        token = secrets.token_urlsafe(32)
        self._links[_digest(token)] = self.clock() + LINK_SECONDS
        return token

    def enter(self, token: str) -> str | None:
        """The cookie of a new visit of this machine's user for a link's token, which is dead from then on.

        None: it was dead before, or never lived.
        """
        until = self._links.pop(_digest(token), None)
        if until is None or until < self.clock():
            return None
        return self.admit(LOCAL)

    def admit(self, principal: Principal) -> str:
        """The cookie of a new visit of somebody who is known."""
        self._opened += 1
        cookie = secrets.token_urlsafe(32)
        visit = Visit(name=f"browser {self._opened}", principal=principal, form_key=secrets.token_urlsafe(32), heard_at=self.clock())
        self._visits[_digest(cookie)] = visit
        return cookie

    def visit(self, cookie: str | None) -> Visit | None:
        """Whose cookie it is; None: nobody's, or not any more."""
        if cookie is None:
            return None
        key, now = _digest(cookie), self.clock()
        found = self._visits.get(key)
        if found is None:
            return None
        if now - found.heard_at > SILENT_SECONDS:
            del self._visits[key]
            return None
        self._visits[key] = found = replace(found, heard_at=now)
        return found

    def leave(self, cookie: str | None) -> None:
        """End a visit."""
        if cookie is not None:
            self._visits.pop(_digest(cookie), None)


def same_key(visit: Visit, given: str) -> bool:
    """Is it the key of that visit's forms?"""
    return secrets.compare_digest(visit.form_key.encode(), given.encode(errors="replace"))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
