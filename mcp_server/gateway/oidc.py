"""People sign in at their issuer: OpenID Connect's authorization code flow with PKCE, for one client of ours at one issuer.

Of what the issuer gives, only the ID token is looked at; access and refresh tokens are let go at once.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import anyio
import structlog

from mcp_server.gateway.attempts import Attempt
from mcp_server.gateway.authority import Authority, person_of
from mcp_server.gateway.fetching import Fetcher, may_fetch
from mcp_server.gateway.issuers import FRESH, PAUSE, metadata_places
from mcp_server.gateway.jose import LEEWAY
from mcp_server.gateway.verified import Refused
from mcp_server.principal import TokenPrincipal
from mcp_server.settings.gateway import Gateway, Issuer
from mcp_server.settings.secret_files import secret_in

log = structlog.get_logger("gateway")

LONGEST_CODE = 4096
"""Characters of what a browser carries back."""

NAMES = ("name", "preferred_username", "email")
"""Claims by which a person is called on their own pages, the first that is there."""

LONGEST_NAME = 60


class Away(Refused):
    """The issuer cannot be reached, or answers with nothing that can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What we are at the issuer."""

    id: str
    secret: str
    """Empty: a public client."""
    scopes: tuple[str, ...]
    redirect: str
    """The whole address that browsers are sent back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What the issuer's metadata says."""

    authorize: str
    token: str
    names_itself: bool
    """Each answer by way of the browser says whose it is (RFC 9207)."""
    by_header: bool
    """A client shows its secret in a header; else in the form."""
    proves: bool = True
    """It may look at a proof (PKCE) by S256, the one that is sent."""
    scopes: tuple[str, ...] | None = None
    """Those that it says it knows; None: it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Who has signed in."""

    principal: TokenPrincipal
    claims: Mapping[str, Any]
    called: str


class SignsIn:
    """The flow, from the address that a browser is sent to until who came back is known."""

    def __init__(self, issuer: Issuer, client: Client, fetcher: Fetcher, authority: Authority, steady: Callable[[], float]) -> None:
        """`steady`: seconds that only go forward."""
        self.issuer = issuer
        self._client = client
        self._fetcher = fetcher
        self._authority = authority
        self._steady = steady
        self._asking = anyio.Lock()
        self._endpoints: Endpoints | None = None
        self._asked_at: float | None = None

    @property
    def called(self) -> str:
        """The issuer, for people."""
        return urlsplit(self.issuer.issuer).netloc

    async def address(self, attempt: Attempt) -> str:
        """Where the browser is sent.

        Raises:
            Away: Nobody knows.
        """
        where = (await self._known()).authorize
        asked = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.redirect,
            "scope": " ".join(dict.fromkeys(("openid", *self._client.scopes))),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return f"{where}{'&' if urlsplit(where).query else '?'}{urlencode(asked)}"

    async def meant(self, said_issuer: str | None) -> None:
        """Is an answer that came by way of the browser this issuer's? Looked at before anything else of it is.

        Raises:
            Refused: It is not.
        """
        if said_issuer is None and (await self._known()).names_itself:
            raise Refused("the answer does not say whose it is")
        if said_issuer not in (None, self.issuer.issuer):
            raise Refused("the answer is another issuer's")

    async def person(self, code: str, attempt: Attempt) -> Identified:
        """Who comes back with that code.

        Raises:
            Away: The issuer cannot be asked.
            Refused: It does not say so.
        """
        if not 0 < len(code) <= LONGEST_CODE:
            raise Refused("the answer holds no code")
        token = (await self._redeemed(code, attempt)).get("id_token")
        if not isinstance(token, str):
            raise Refused("the issuer gave no ID token for the code")
        claims = await self._authority.identified(token, issuer=self.issuer.issuer, client=self._client.id)
        _looked_at(claims, attempt, self._client.id)
        return Identified(principal=person_of(self.issuer, claims, client=self._client.id), claims=claims, called=_called(claims))

    async def _redeemed(self, code: str, attempt: Attempt) -> Mapping[str, Any]:
        known, client = await self._known(), self._client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect,
            "code_verifier": attempt.verifier,
        }
        if not client.secret:
            return await self._fetcher.post(known.token, {**form, "client_id": client.id})
        if known.by_header:
            return await self._fetcher.post(known.token, form, user=client.id, password=client.secret)
        return await self._fetcher.post(known.token, {**form, "client_id": client.id, "client_secret": client.secret})

    async def _known(self) -> Endpoints:
        """What the metadata says, not older than a few minutes. Whoever clicks must not hammer an issuer that is away."""
        async with self._asking:
            age = None if self._asked_at is None else self._steady() - self._asked_at
            if self._endpoints is not None and age is not None and age <= FRESH:
                return self._endpoints
            if self._endpoints is None and age is not None and age < PAUSE:
                raise Away("its metadata could not be had a moment ago")
            self._asked_at, self._endpoints = self._steady(), None
            self._endpoints = await endpoints_of(self.issuer, self._fetcher)
            return self._endpoints


async def endpoints_of(issuer: Issuer, fetcher: Fetcher) -> Endpoints:
    """What the issuer's own metadata says.

    Raises:
        Away: There is none that can be used.
    """
    reasons: list[str] = []
    for place in metadata_places(issuer.issuer):
        try:
            return _told(issuer, await fetcher.get(place))
        except Refused as error:
            reasons.append(str(error))
    raise Away("; ".join(reasons))


def _told(issuer: Issuer, metadata: Mapping[str, Any]) -> Endpoints:
    if metadata.get("issuer") != issuer.issuer:
        raise Refused("the metadata is another issuer's")
    authorize, token = (metadata.get(name) for name in ("authorization_endpoint", "token_endpoint"))
    if not isinstance(authorize, str) or not isinstance(token, str):
        raise Refused("the metadata does not say where people sign in")
    if not all(may_fetch(place, told_by=issuer.issuer) and not urlsplit(place).fragment for place in (authorize, token)):
        raise Refused("the metadata names places that may not be believed")
    ways, proofs, scopes = (
        metadata.get(f"{name}_supported") for name in ("token_endpoint_auth_methods", "code_challenge_methods", "scopes")
    )
    return Endpoints(
        authorize=authorize,
        token=token,
        names_itself=metadata.get("authorization_response_iss_parameter_supported") is True,
        by_header=not isinstance(ways, list) or "client_secret_basic" in ways or "client_secret_post" not in ways,
        proves=not isinstance(proofs, list) or "S256" in proofs,
        scopes=tuple(cast("list[str]", scopes)) if isinstance(scopes, list) else None,
    )


def client_of(gateway: Gateway) -> tuple[Issuer, Client] | None:
    """What we are, and where, as the settings have it. None: people come in with API keys alone.

    Raises:
        ConfigError: The client's secret cannot be read.
    """
    said, issuer, console = gateway.console, gateway.console_issuer, gateway.console_url
    if said is None or said.client_id is None or issuer is None or console is None:
        return None
    secret = "" if said.client_secret_file is None else secret_in(said.client_secret_file)
    return issuer, Client(id=said.client_id, secret=secret, scopes=tuple(said.scopes), redirect=f"{console}/callback")


def signs_in_of(gateway: Gateway, fetcher: Fetcher, authority: Authority, steady: Callable[[], float]) -> SignsIn | None:
    """As the settings have it. None, and raises, as `client_of`."""
    found = client_of(gateway)
    return None if found is None else SignsIn(*found, fetcher, authority, steady)


def _looked_at(claims: Mapping[str, Any], attempt: Attempt, client: str) -> None:
    """What an ID token says beside signature, issuer, audience and end (OpenID Connect Core, 3.1.3.7). Raises `Refused`."""
    nonce, made_at, audience = claims.get("nonce"), claims.get("iat"), claims.get("aud")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(errors="replace"), attempt.nonce.encode()):
        raise Refused("the ID token was made for another sign-in")
    if claims.get("azp", client) != client or ("azp" not in claims and audience not in (client, [client])):
        raise Refused("the ID token was made for another client")
    if isinstance(made_at, bool) or not isinstance(made_at, int | float) or made_at < attempt.began_at - LEEWAY:
        raise Refused("the ID token is older than the sign-in")


def _called(claims: Mapping[str, Any]) -> str:
    said = next((claims[name] for name in NAMES if isinstance(claims.get(name), str) and claims[name].strip()), "")
    return said.strip()[:LONGEST_NAME]
