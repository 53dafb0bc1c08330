"""Sign-ins under way: what a browser was sent to its issuer with, good once; which browser that was; and who tried too often.

All of it in memory and bounded, since anybody may begin one.
"""

import base64
import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_server.gateway.visits import digest_of

ATTEMPT_SECONDS = 600.0
"""How long a browser may stay with its issuer: time to find a password and a second factor."""

MOST_ATTEMPTS = 10_000
"""Under way at once."""

MOST_FROM_ONE = 200
"""Of them from one address, where the oldest of that address gives way: an office behind one address fits, a flood from one does not drive
out what others have begun.
"""

MOST_TRIES = 10
"""API keys that do not count, from one address, within `TRIES_SECONDS`. Nobody mistypes more often; nobody can guess one anyway."""

TRIES_SECONDS = 900.0

MOST_ADDRESSES = 10_000
"""Of which failed tries are kept. The oldest gives way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One sign-in under way."""

    state: str
    nonce: str
    verifier: str
    """What the challenge of PKCE was made from (RFC 7636)."""
    browser: str
    """The digest of the cookie of the browser that began it."""
    back: str
    """The path of the page that was wanted."""
    address: str
    """Where it was begun from."""
    began_at: float

    @property
    def challenge(self) -> str:
        """That of the verifier, by S256."""
        return urlsafe(hashlib.sha256(self.verifier.encode()).digest())


@dataclass(slots=True, kw_only=True)
class Attempts:
    """Those of one console. Each is given out once."""

    clock: Callable[[], float]
    _open: dict[str, Attempt] = field(default_factory=dict[str, Attempt])
    _from: Counter[str] = field(default_factory=Counter[str])

    def begin(self, *, browser: str, back: str, address: str) -> Attempt:
        """A new one. `browser`: its cookie."""
        self._make_room(address)
        made = Attempt(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            browser=digest_of(browser),
            back=back,
            address=address,
            began_at=self.clock(),
        )
        self._open[digest_of(made.state)] = made
        self._from[address] += 1
        return made

    def take(self, state: str, *, browser: str | None) -> Attempt | None:
        """The one that was begun with that state in that browser; from now on there is none. None: there is none."""
        found = self._drop(digest_of(state))
        if found is None or browser is None or not hmac.compare_digest(found.browser, digest_of(browser)):
            return None
        return found if self.clock() - found.began_at <= ATTEMPT_SECONDS else None

    def _make_room(self, address: str) -> None:
        late = self.clock() - ATTEMPT_SECONDS
        while self._open and next(iter(self._open.values())).began_at < late:
            self._drop(next(iter(self._open)))
        if self._from[address] >= MOST_FROM_ONE:
            self._drop(next(key for key, one in self._open.items() if one.address == address))
        while len(self._open) >= MOST_ATTEMPTS:
            self._drop(next(iter(self._open)))

    def _drop(self, key: str) -> Attempt | None:
        found = self._open.pop(key, None)
        if found is not None:
            self._from[found.address] -= 1
            if not self._from[found.address]:
                del self._from[found.address]
        return found


@dataclass(slots=True, kw_only=True)
class Browsers:
    """The short-lived cookies of browsers that sign in. Each shows that it was made here; nothing is kept of them."""

    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def cookie(self, held: str | None) -> str:
        """The one that the browser has, if it is one of ours, so that two windows can sign in at once; else a new one."""
        if held is not None and self.made(held):
            return held
        name = secrets.token_urlsafe(32)
        return f"{name}.{self._mark('browser', name)}"

    def made(self, cookie: str) -> bool:
        """Is it one of ours?"""
        name, _, mark = cookie.partition(".")
        return hmac.compare_digest(self._mark("browser", name).encode(), mark.encode(errors="replace"))

    def form_key(self, cookie: str) -> str:
        """What stands in the form of that browser's page: proof that what is sent comes from it."""
        return self._mark("form", cookie)

    def _mark(self, what: str, of: str) -> str:
        return urlsafe(hmac.digest(self._secret, f"{what} {of}".encode(errors="replace"), "sha256"))


@dataclass(slots=True, kw_only=True)
class Tries:
    """How often keys were tried in vain, by address. A window begins with the first such try."""

    clock: Callable[[], float]
    _failed: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])

    def may(self, address: str) -> bool:
        """Is one more looked at?"""
        began, count = self._failed.get(address, (0.0, 0))
        return count < MOST_TRIES or self.clock() - began > TRIES_SECONDS

    def failed(self, address: str) -> None:
        """One was in vain."""
        now = self.clock()
        began, count = self._failed.pop(address, (now, 0))
        if now - began > TRIES_SECONDS:
            began, count = now, 0
        while len(self._failed) >= MOST_ADDRESSES:
            del self._failed[next(iter(self._failed))]
        self._failed[address] = (began, count + 1)


def urlsafe(content: bytes) -> str:
    """Base64 as addresses have it, without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
