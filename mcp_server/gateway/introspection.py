"""What an issuer tells of an opaque token (RFC 7662), kept for seconds by the token's digest."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.jose import LEEWAY, life_of
from mcp_server.gateway.verified import Refused
from mcp_server.settings.gateway import Issuer
from mcp_server.settings.secret_files import secret_in

KEPT = 30.0
"""Seconds that an answer counts: as long a token that its issuer has revoked may still pass."""

MOST_KEPT = 10_000
"""Answers at once. The oldest gives way."""

AT_ONCE = 8
"""Questions under way: made-up tokens must not hammer the issuer."""


class Asking:
    """One issuer's introspection endpoint."""

    def __init__(self, issuer: Issuer, audience: str, fetcher: Fetcher, clock: Callable[[], float]) -> None:
        """`clock`: seconds since the epoch.

        Raises:
            ConfigError: The secret cannot be read.
        """
        where = issuer.introspection
        if where is None:
            raise ValueError("the issuer has no introspection")
        self.issuer = issuer
        self._where = where
        self._secret = secret_in(where.client_secret_file)
        self._audience = audience
        self._fetcher = fetcher
        self._clock = clock
        self._limiter = anyio.Semaphore(AT_ONCE)
        self._kept: dict[bytes, tuple[float, Mapping[str, Any] | None]] = {}

    async def claims_of(self, token: str) -> Mapping[str, Any]:
        """The claims of a token that is active and means us.

        Raises:
            Refused: It is not, or does not, or the issuer cannot be asked.
        """
        digest = hashlib.sha256(token.encode()).digest()
        known = self._kept.get(digest)
        if known is None or known[0] <= self._clock():
            async with self._limiter:
                claims = await self._asked(token)
            known = (self._clock() + KEPT, claims)
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[digest] = known
        claims = known[1]
        if claims is None:
            raise Refused("its issuer says that it is not active, or not for here")
        if claims["exp"] <= self._clock() - LEEWAY:
            raise Refused("it has ended")
        if life_of(claims, self._clock()) > self.issuer.max_lifetime + LEEWAY:
            raise Refused("it lives longer than its issuer's settings allow")
        return claims

    async def lacking(self) -> str:
        """Why no token can be asked about now; empty: a made-up one was answered as one is."""
        try:
            said = await self._fetcher.post(
                self._where.url, {"token": secrets.token_urlsafe(32)}, user=self._where.client_id, password=self._secret
            )
        except Refused as error:
            return str(error)
        return "" if said.get("active") is False else "a token that nobody made is answered with something else than `active: false`"

    async def _asked(self, token: str) -> Mapping[str, Any] | None:
        form = {"token": token, "token_type_hint": "access_token"}
        said = await self._fetcher.post(self._where.url, form, user=self._where.client_id, password=self._secret)
        audience = said.get("aud")
        meant = audience == self._audience or (isinstance(audience, list) and self._audience in audience)
        ends, begins = said.get("exp"), said.get("nbf", 0)
        numbers = _is_time(ends) and _is_time(begins) and _is_time(said.get("iat", 0)) and begins <= self._clock() + LEEWAY
        ours = said.get("iss", self.issuer.issuer) == self.issuer.issuer
        return said if said.get("active") is True and meant and numbers and ours else None


def _is_time(said: object) -> bool:
    return isinstance(said, int | float) and not isinstance(said, bool)
