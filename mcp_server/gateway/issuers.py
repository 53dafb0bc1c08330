"""The keys of one issuer: found by its metadata or where settings say, kept for minutes, fetched anew for a key that is not known yet."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import anyio
import structlog

from mcp_server.gateway.fetching import Fetcher, may_fetch
from mcp_server.gateway.jose import Head, fitting, usable
from mcp_server.gateway.verified import Refused
from mcp_server.settings.gateway import Issuer

log = structlog.get_logger("gateway")

FRESH = 300.0
"""Seconds after which keys are fetched anew: as long a key that its issuer has dropped may still count."""

STALE = 3600.0
"""Seconds that keys count while their issuer cannot be reached."""

PAUSE = 10.0
"""Seconds at least between two fetches, whatever tokens come: made-up names of keys must not hammer the issuer."""


class Keys:
    """One issuer's keys, as they were fetched last."""

    def __init__(self, issuer: Issuer, fetcher: Fetcher, steady: Callable[[], float]) -> None:
        """`steady`: seconds that only go forward."""
        self._issuer = issuer
        self._fetcher = fetcher
        self._steady = steady
        self._fetching = anyio.Lock()
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._address: str | None = issuer.jwks_url
        self._fault = "its keys were not fetched yet"

    async def key_for(self, head: Head) -> Mapping[str, Any]:
        """The key that a token with that header must be signed with.

        Raises:
            Refused: There is none, or it cannot be told which.
        """
        found = fitting(self._keys, head)
        if not found or self._older_than(FRESH):
            async with self._fetching:
                # Whoever held the lock may have fetched it meanwhile.
                found = fitting(self._keys, head)
                if (not found or self._older_than(FRESH)) and self._may_try():
                    await self._fetch()
                    found = fitting(self._keys, head)
        if self._older_than(STALE):
            raise Refused("the keys of its issuer cannot be had")
        if len(found) != 1:
            raise Refused("its issuer has no such key" if not found else "it does not say which of its issuer's keys")
        return found[0]

    @property
    def issuer(self) -> str:
        """Whose they are."""
        return self._issuer.issuer

    async def lacking(self) -> str:
        """Why no token of this issuer can be checked now; empty: they can. Fetches where the keys are not fresh, no oftener than ever."""
        if self._older_than(FRESH):
            async with self._fetching:
                if self._older_than(FRESH) and self._may_try():
                    await self._fetch()
        if not self._older_than(STALE):
            return "" if self._keys else "it publishes no key that can be used"
        return self._fault

    @property
    def served(self) -> tuple[str, ...]:
        """Of the ways to sign that settings allow, those that a key of the issuer's is for, as they were fetched last."""
        allowed = self._issuer.algorithms
        return tuple(way for way in allowed if fitting(self._keys, Head(algorithm=way, key_id=None)))

    def _older_than(self, seconds: float) -> bool:
        return self._fetched_at is None or self._steady() - self._fetched_at > seconds

    def _may_try(self) -> bool:
        return self._tried_at is None or self._steady() - self._tried_at >= PAUSE

    async def _fetch(self) -> None:
        """Replace the keys; where that fails they stay, and get older."""
        self._tried_at = self._steady()
        try:
            address = self._address or await self._discovered()
            self._keys = usable((await self._fetcher.get(address)).get("keys"))
            self._fetched_at = self._steady()
            self._address = address
        except Refused as error:
            # It may have moved.
            self._address = self._issuer.jwks_url
            self._fault = str(error)
            log.warning("keys of an issuer could not be fetched", issuer=self._issuer.issuer, reason=str(error))

    async def _discovered(self) -> str:
        """Where the issuer's own metadata says that its keys are."""
        reasons: list[str] = []
        for place in metadata_places(self._issuer.issuer):
            try:
                return self._told(await self._fetcher.get(place))
            except Refused as error:
                reasons.append(str(error))
        raise Refused("; ".join(reasons))

    def _told(self, metadata: Mapping[str, Any]) -> str:
        if metadata.get("issuer") != self._issuer.issuer:
            raise Refused("the metadata is another issuer's")
        address = metadata.get("jwks_uri")
        if not isinstance(address, str) or not may_fetch(address, told_by=self._issuer.issuer):
            raise Refused("the metadata names no place of keys that may be believed")
        return address


def metadata_places(issuer: str) -> tuple[str, ...]:
    """Where an issuer's metadata may be: RFC 8414, then OpenID Connect's two."""
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = (
        f"{root}/.well-known/oauth-authorization-server{path}",
        f"{root}/.well-known/openid-configuration{path}",
        f"{root}{path}/.well-known/openid-configuration",
    )
    return tuple(dict.fromkeys(places))
