"""The visits of browsers to a console: who came in, and for how long that counts. All of it in memory; nothing outlives the console."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mcp_server.principal import Principal

MOST_OF_ONE = 20
"""Visits of one principal at once, each in a browser of its own. The oldest gives way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One browser that came in."""

    name: str
    """For the log and the audit; opens nothing."""
    principal: Principal
    """Who came in."""
    form_key: str
    """Stands in every form of its pages: proof that a post comes from one of them."""
    began_at: float
    heard_at: float
    called: str = ""
    """What the person is called on their own pages."""
    api_key: str = ""
    """The digest of the API key that they came in with; empty: they came in otherwise."""


@dataclass(slots=True, kw_only=True)
class Visits:
    """Those of one console. Cookies are kept as digests: looking one up tells nothing by its time."""

    clock: Callable[[], float]
    silent: float
    """Seconds of silence after which a visit is over."""
    longest: float = float("inf")
    """Seconds after which one is over in any case."""
    _visits: dict[str, Visit] = field(default_factory=dict[str, Visit])
    _opened: int = 0

    def admit(self, principal: Principal, *, called: str = "", api_key: str = "") -> str:
        """The cookie of a new visit of somebody who is known."""
        self._forget(principal)
        self._opened += 1
        cookie, now = secrets.token_urlsafe(32), self.clock()
        self._visits[digest_of(cookie)] = Visit(
            name=f"browser {self._opened}",
            principal=principal,
            form_key=secrets.token_urlsafe(32),
            began_at=now,
            heard_at=now,
            called=called,
            api_key=api_key,
        )
        return cookie

    def visit(self, cookie: str | None, *, renews: bool = True) -> Visit | None:
        """Whose cookie it is; None: nobody's, or not any more. `renews`: a person does something, so that its silence begins anew."""
        if cookie is None:
            return None
        key = digest_of(cookie)
        found = self._visits.get(key)
        if found is None:
            return None
        if self._over(found):
            del self._visits[key]
            return None
        if renews:
            self._visits[key] = found = replace(found, heard_at=self.clock())
        return found

    def leave(self, cookie: str | None) -> None:
        """End a visit."""
        if cookie is not None:
            self._visits.pop(digest_of(cookie), None)

    def _over(self, visit: Visit) -> bool:
        now = self.clock()
        return now - visit.heard_at > self.silent or now - visit.began_at > self.longest

    def _forget(self, principal: Principal) -> None:
        """What is over, and the oldest of this principal's where there are many."""
        for key in [key for key, visit in self._visits.items() if self._over(visit)]:
            del self._visits[key]
        theirs = [key for key, visit in self._visits.items() if visit.principal == principal]
        for key in theirs[: max(0, len(theirs) - MOST_OF_ONE + 1)]:
            del self._visits[key]


def same_key(visit: Visit, given: str) -> bool:
    """Is it the key of that visit's forms?"""
    return secrets.compare_digest(visit.form_key.encode(), given.encode(errors="replace"))


def digest_of(secret: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
