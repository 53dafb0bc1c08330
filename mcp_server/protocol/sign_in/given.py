"""What a sign-in at an issuer gives, and what it is done with: values and seams that load no SDK."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import httpx2

from mcp_server.settings.loopback import is_guarded

EARLY = 30.0
"""Seconds before its end from which on a token is refreshed: a request must not arrive with one that has just ended."""

REVOKE_SECONDS = 5.0
"""For giving tokens back. They are forgotten in any case."""

Show = Callable[[str], Awaitable[None]]
"""Brings the person to a page."""


class NotGiven(Exception):
    """The issuer gave no token. The text holds nothing that it sent but its short error word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """One sign-in. The mappings are the SDK's own models as JSON."""

    issuer: str
    client: Mapping[str, Any]
    """Who Remit is to the issuer."""
    tokens: Mapping[str, Any]
    expires_at: float | None
    """Of the access token, in seconds since 1970; None: not told."""
    metadata: Mapping[str, Any]
    """The issuer's, with its token endpoint: a token is refreshed there and nowhere else."""
    resource: Mapping[str, Any] | None
    """The server's own metadata."""
    redirect: str
    """The address that the client was registered with, where the browser comes back to."""

    @property
    def access_token(self) -> str:
        """What requests carry."""
        return str(self.tokens["access_token"])

    @property
    def refreshable(self) -> bool:
        """Another token can be had without the person."""
        return bool(self.tokens.get("refresh_token"))

    @property
    def ends_soon(self) -> bool:
        """A request with it might come too late."""
        return self.expires_at is not None and self.expires_at - EARLY <= time.time()

    def values(self) -> dict[str, Any]:
        """Of JSON's types; `SignedIn(**values)` is the same again."""
        return {name: getattr(self, name) for name in SignedIn.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What the issuer sent back with the browser."""

    code: str
    """Empty: it refused."""
    error: str
    """Its short word for why."""
    issuer: str | None


class Threshold(Protocol):
    """Where the browser comes back to."""

    @property
    def address(self) -> str:
        """What the issuer sends it to."""
        ...

    async def returned(self, state: str) -> Returned:
        """Wait for whoever brings this state."""
        ...


class Pass(Protocol):
    """One pass of the OAuth flow; see `flow`."""

    async def refresh(self) -> SignedIn:
        """A token without the person. Raises `NotGiven`."""
        ...

    async def sign_in(self, answer: httpx2.Response, threshold: Threshold, show: Show) -> SignedIn:
        """A token with the person's help, after the server's 401 or 403. Raises `NotGiven`."""
        ...


Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]
"""Sends one request, and follows no redirect. Raises `httpx2.HTTPError`, or `NotGiven` where it may not go there."""


async def revoke(held: SignedIn, send: Send) -> None:
    """Give tokens back to their issuer, where it takes them (RFC 7009). Whatever becomes of that, they are forgotten here."""
    place = held.metadata.get("revocation_endpoint")
    if not isinstance(place, str) or not is_guarded(place):
        return
    with anyio.move_on_after(REVOKE_SECONDS), suppress(httpx2.HTTPError, NotGiven):
        for kind in ("refresh_token", "access_token"):
            token = held.tokens.get(kind)
            if token is not None:
                said = {"token": token, "token_type_hint": kind, "client_id": str(held.client.get("client_id"))}
                await send(httpx2.Request("POST", place, data=said))
