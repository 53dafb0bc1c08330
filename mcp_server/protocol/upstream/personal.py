"""Tokens that people have for servers behind Remit: each their own, got by their own sign-in, refreshed when they end, sent to that server
alone. Without one nothing is sent.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Protocol

import anyio
import httpx2
from pydantic import SecretStr

from mcp_server.protocol.sign_in.flow import As, Flow, Way
from mcp_server.protocol.sign_in.given import NotGiven, Show, SignedIn, Threshold, revoke
from mcp_server.protocol.upstream.expanding import held_in
from mcp_server.protocol.upstream.vault import Holder, Vault
from mcp_server.settings.upstream import UpstreamOauth

PROBE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
"""Sent without a token, so that the server says who gives one. Does nothing."""

ACCEPT = "application/json, text/event-stream"


class Personal:
    """The tokens of one server's people.

    Args:
        vault: Where they are kept.
        who: Who Remit is to the issuer.
        way: To the issuer, and to the server while somebody signs in.
    """

    def __init__(self, vault: Vault, who: Callable[[], As], way: Way) -> None:
        self._vault = vault
        self._who = who
        self._way = way
        self._turns: dict[Holder, anyio.Lock] = {}
        """A refresh token counts once. One entry a person who came."""

    async def token(self, holder: Holder) -> str | None:
        """One that will not end on its way; None: this person has not signed in, or the sign-in has ended."""
        held = await self._held(holder)
        if held is None or not held.ends_soon:
            return None if held is None else held.access_token
        return await self._refreshed(holder, held.access_token)

    async def renewed(self, holder: Holder, sent: str) -> str | None:
        """Another one than was sent, which the server did not take; None: there is none without the person."""
        return await self._refreshed(holder, sent)

    async def sign_in(self, holder: Holder, threshold: Threshold, show: Show) -> None:
        """Have the person sign in.

        Args:
            holder: Who, and to which server.
            threshold: Where their browser comes back to.
            show: Brings them to the issuer's page.

        Raises:
            NotGiven: They did not, or there is nothing to sign in to.
        """
        async with self._way() as send:
            answer = await self._asked(holder, send)
        given = await Flow(holder.address, None, self._who(), self._way).sign_in(answer, threshold, show)
        await self._vault.keep(holder, given.values())

    async def sign_out(self, holder: Holder) -> bool:
        """Give the tokens back where the issuer takes them, and forget them. Were there any?"""
        held = await self._held(holder)
        forgotten = await self._vault.forget(holder)
        if held is not None:
            async with self._way() as send:
                await revoke(held, send)
        return forgotten

    async def _asked(self, holder: Holder, send: Callable[[httpx2.Request], Any]) -> httpx2.Response:
        try:
            answer: httpx2.Response = await send(httpx2.Request("POST", holder.address, json=PROBE, headers={"accept": ACCEPT}))
        except httpx2.HTTPError as error:
            raise NotGiven(f"the server cannot be reached ({type(error).__name__})") from None
        if answer.status_code not in (401, 403):
            raise NotGiven(f"the server asks nobody to sign in: it answered {answer.status_code}")
        return answer

    async def _held(self, holder: Holder) -> SignedIn | None:
        return read(await self._vault.get(holder))

    async def _refreshed(self, holder: Holder, sent: str) -> str | None:
        async with self._turns.setdefault(holder, anyio.Lock()):
            held = await self._held(holder)
            if held is None or held.access_token != sent:
                return None if held is None else held.access_token  # somebody else got one meanwhile
            if not held.refreshable:
                return None
            try:
                given = await Flow(holder.address, held, self._who(), self._way).refresh()
            except NotGiven:
                again = await self._held(holder)  # another replica may have used the refresh token first
                return again.access_token if again is not None and again.access_token != sent else None
            await self._vault.keep(holder, given.values())
            return given.access_token


def read(kept: Mapping[str, Any] | None) -> SignedIn | None:
    """What the vault held; None where it is of another form."""
    try:
        return None if kept is None else SignedIn(**kept)
    except TypeError:
        return None


class Tokens(Protocol):
    """Where people's tokens for one server come from."""

    async def token(self, holder: Holder) -> str | None:
        """One that will not end on its way; None: this person has none."""
        ...

    async def renewed(self, holder: Holder, sent: str) -> str | None:
        """Another one than was sent, which the server did not take; None: there is none."""
        ...


class NotSignedIn(httpx2.RequestError):
    """Nothing was sent, as there is no token to send it with."""


class Bearer(httpx2.Auth):
    """Puts one person's token on requests to the server. One that is not taken is renewed once: what is refused for its token was not
    done, so that it may be sent again.
    """

    def __init__(self, tokens: Tokens, holder: Holder) -> None:
        self._tokens = tokens
        self._holder = holder

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._tokens.token(self._holder)
        if token is None:
            raise NotSignedIn("whoever this is for is not signed in there any more", request=request)
        request.headers["authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and (other := await self._tokens.renewed(self._holder, token)) is not None:
            request.headers["authorization"] = f"Bearer {other}"
            yield request


def who_of(oauth: UpstreamOauth) -> As:
    """Who Remit is to the issuer, by the settings. Raises `NotSet` where the client's secret cannot be had."""
    secret = None if oauth.client_secret_file is None else SecretStr(held_in(oauth.client_secret_file))
    return As(client_id=oauth.client_id, client_secret=secret, issuer=oauth.issuer, scope=oauth.scope)
