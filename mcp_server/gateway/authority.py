"""From a bearer token to who it stands for. Which way a token is checked goes by its form; that it counts goes by the check alone."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.introspection import Asking
from mcp_server.gateway.issuers import Keys
from mcp_server.gateway.jose import IDENTITY, Demand, claimed_issuer, head_of, verified_claims
from mcp_server.gateway.keys import PREFIX, KeyHolders
from mcp_server.gateway.verified import Refused, Verified
from mcp_server.principal import TokenPrincipal
from mcp_server.settings.gateway import Gateway, Issuer

LONGEST_NAME = 512
"""Characters of a subject or a client."""

CLIENT_CLAIMS = ("client_id", "azp")


class _Trusted:
    """One issuer and its keys."""

    def __init__(self, issuer: Issuer, audience: str, keys: Keys) -> None:
        self.issuer = issuer
        self.keys = keys
        self.demand = Demand(issuer=issuer.issuer, audience=issuer.audience or audience, max_lifetime=issuer.max_lifetime)


class Authority:
    """Checks tokens. Holds no state of callers."""

    def __init__(
        self, gateway: Gateway, fetcher: Fetcher, keys: KeyHolders, *, steady: Callable[[], float], clock: Callable[[], float]
    ) -> None:
        """`steady`: seconds that only go forward; `clock`: seconds since the epoch.

        Raises:
            ConfigError: What introspection needs cannot be read.
        """
        url = gateway.url or ""
        self._keys = keys
        self._longest = gateway.limits.token_bytes
        self._issuers = {one.issuer: _Trusted(one, url, Keys(one, fetcher, steady)) for one in gateway.issuers}
        asked = next((one for one in gateway.issuers if one.introspection is not None), None)
        self._asking = None if asked is None else Asking(asked, asked.audience or url, fetcher, clock)

    @property
    def issuers(self) -> tuple[Keys, ...]:
        """The keys of each."""
        return tuple(one.keys for one in self._issuers.values())

    async def verify(self, token: str) -> Verified:
        """Whose token it is.

        Raises:
            Refused: It does not count.
        """
        if not token or len(token) > self._longest or not token.isascii():
            raise Refused("it has no form that a token has")
        if token.startswith(PREFIX):
            return await self._keys.verify(token)
        if token.count(".") == 2:
            return await self._signed(token)
        if self._asking is None:
            raise Refused("it is opaque, and no issuer can be asked about it")
        return verified_of(self._asking.issuer, await self._asking.claims_of(token))

    async def identified(self, token: str, *, issuer: str, client: str) -> Mapping[str, Any]:
        """The claims of an ID token that one of the issuers made for a client of ours. What it was made for is not looked at.

        Raises:
            Refused: It is none, or counts no more.
        """
        trusted = self._issuers[issuer]
        head = head_of(token, trusted.issuer.algorithms, kinds=IDENTITY)
        demand = Demand(issuer=issuer, audience=client, max_lifetime=trusted.issuer.max_lifetime)
        return verified_claims(token, head, await trusted.keys.key_for(head), demand)

    async def _signed(self, token: str) -> Verified:
        trusted = self._issuers.get(claimed_issuer(token))
        if trusted is None:
            raise Refused("its issuer is none of ours")
        head = head_of(token, trusted.issuer.algorithms)
        claims = verified_claims(token, head, await trusted.keys.key_for(head), trusted.demand)
        return verified_of(trusted.issuer, claims)


def person_of(issuer: Issuer, claims: Mapping[str, Any], *, client: str) -> TokenPrincipal:
    """Whom claims name, by a client that is known.

    Raises:
        Refused: They name nobody.
    """
    return TokenPrincipal(issuer=issuer.issuer, subject=_name(claims.get(issuer.subject_claim), "subject"), client=client)


def verified_of(issuer: Issuer, claims: Mapping[str, Any]) -> Verified:
    """What claims that hold come to.

    Raises:
        Refused: They do not say who and by which client.
    """
    clients = (issuer.client_claim,) if issuer.client_claim is not None else CLIENT_CLAIMS
    client = next((claims[name] for name in clients if name in claims), None)
    return Verified(
        principal=person_of(issuer, claims, client=_name(client, "client")),
        scopes=scopes_of(claims),
        claims=MappingProxyType(dict(claims)),
        # without it, as early as it can have been: it then brings back nothing that was said otherwise since
        issued_at=float(claims.get("iat", claims["exp"] - issuer.max_lifetime)),
        expires_at=float(claims["exp"]),
    )


def _name(said: object, what: str) -> str:
    if not isinstance(said, str) or not said or len(said) > LONGEST_NAME:
        raise Refused(f"it names no {what} where settings look for one")
    return said


def scopes_of(claims: Mapping[str, Any]) -> frozenset[str]:
    """`scope` as RFC 9068 has it, or `scp`, as text or as a list."""
    said = claims.get("scope", claims.get("scp", ""))
    if isinstance(said, str):
        return frozenset(said.split())
    if isinstance(said, list):
        return frozenset(one for one in cast("list[object]", said) if isinstance(one, str))
    return frozenset()
