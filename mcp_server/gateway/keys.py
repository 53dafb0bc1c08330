"""API keys for machines: their form, what is kept of them, and whom one stands for.

A key is 256 random bits. So SHA-256 without salt or stretching is enough: nobody can try all, and no two are alike, while a slow hash
would let anybody keep the gateway busy. A key is looked up by its digest, which its sender cannot steer bit by bit, so that the time of
a look-up tells nothing of what is kept.
"""

import base64
import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Callable, Collection

from mcp_server.gateway.verified import Refused, Verified
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import API_KEYS, TokenPrincipal
from mcp_server.records import AuditEvent
from mcp_server.settings.membership import NO_CLAIMS
from mcp_server.store.api_keys import ApiKey, HeldKey
from mcp_server.store.protocol import Store

PREFIX = "remit_key_"
"""By which programs that look for leaked secrets know one."""

SECRET_BYTES = 32

NOTED = 60.0
"""Seconds between two notes of when a key was used: not every request is to cost a write."""

_FORM = re.compile(rf"{PREFIX}([a-z2-7]{{52}})([a-z2-7]{{7}})")


def new_key() -> str:
    """A new one: the prefix, the secret, and a checksum that catches one that was copied in part."""
    secret = _letters(secrets.token_bytes(SECRET_BYTES))
    return f"{PREFIX}{secret}{_checksum(secret)}"


def is_key(token: str) -> bool:
    """Has it the whole form of one? Says nothing about whether there is such a key."""
    form = _FORM.fullmatch(token)
    return form is not None and hmac.compare_digest(_checksum(form[1]), form[2])


def changed(key: ApiKey, outcome: str, at: float, *, by: str) -> AuditEvent:
    """What the audit holds of a change to a key. `at`: seconds since the epoch; `by`: a principal's key."""
    return AuditEvent(
        at=at, kind="key", principal=by, session_id=SessionId(""), session_path=(), ruled_by=by, outcome=outcome, ref=key.name
    )


def digest_of(key: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(key.encode()).hexdigest()


def _letters(content: bytes) -> str:
    return base64.b32encode(content).decode().rstrip("=").lower()


def _checksum(secret: str) -> str:
    return _letters(zlib.crc32(secret.encode()).to_bytes(4, "big"))


class KeyHolders:
    """Whom keys stand for, as the store says at each request: a key that is revoked does not pass once more."""

    def __init__(self, store: Store, clock: Callable[[], float], required: Collection[str]) -> None:
        """`required`: the scopes that every request needs. Each key has them: that is what the operator made it for."""
        self._store = store
        self._clock = clock
        self._required = frozenset(required)

    async def verify(self, token: str) -> Verified:
        """Whose it is.

        Raises:
            Refused: Nobody's, or nobody's any more.
        """
        if not is_key(token):
            raise Refused("it is no whole API key")
        held = await self._store.held_api_key(digest_of(token))
        if held is None:
            raise Refused("it is no API key of ours")
        now = self._clock()
        ends = _end(held)
        if not _counts(held, now):
            raise Refused(f"the API key {held.key.id} is revoked, was rotated, or has ended")
        if held.key.used_at is None or not 0 <= now - held.key.used_at < NOTED:
            await self._store.use_api_key(held.key.id, now=now)
        return Verified(
            principal=TokenPrincipal(issuer=API_KEYS, subject=held.key.name, client=held.key.id),
            scopes=self._required | frozenset(held.key.scopes),
            claims=NO_CLAIMS,
            expires_at=ends,
        )

    async def counts(self, digest: str) -> bool:
        """Does the key of that digest still count?"""
        held = await self._store.held_api_key(digest)
        return held is not None and _counts(held, self._clock())


def _counts(held: HeldKey, now: float) -> bool:
    ends = _end(held)
    return held.key.revoked_at is None and (ends is None or ends > now)


def _end(held: HeldKey) -> float | None:
    return min((end for end in (held.until, held.key.expires_at) if end is not None), default=None)
