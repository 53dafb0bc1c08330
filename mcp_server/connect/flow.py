"""One pass of the SDK's OAuth flow, with nothing but its own requests on the wire, and none of them in plain text beyond this machine."""

import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from mcp_server.connect.kept import SignedIn
from mcp_server.connect.loopback import HOST, PATH, Door
from mcp_server.connect.reaching import is_guarded
from mcp_server.connect.signing_in import NotGiven, Show

_SECONDS = 20.0
"""For one request to an issuer."""

_LONG_AGO = 1.0
"""Seconds since 1970: a token that ended then is refreshed."""

# The SDK logs what an issuer sent word by word; that may hold tokens.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)


class _Storage:
    """Holds what the SDK reads and writes."""

    def __init__(self, held: SignedIn | None, client: OAuthClientInformationFull | None) -> None:
        self.tokens = None if held is None else OAuthToken.model_validate(held.tokens)
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def _known(self) -> OAuthClientInformationFull | None:
        return self.client

    async def _registered(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info

    # The SDK's names for them.
    get_client_info = _known
    set_client_info = _registered


class Flow:
    """One pass. `held`: what an earlier one gave."""

    def __init__(self, url: str, held: SignedIn | None, *, client_id: str | None) -> None:
        self._url = url
        self._held = held
        self._document = client_id if client_id is not None and client_id.startswith("https://") else None
        self._storage = _Storage(held, _client(held, None if self._document else client_id))
        self._provider: OAuthClientProvider

    async def refresh(self) -> SignedIn:
        """A token without the person.

        Raises:
            NotGiven: The issuer gave none.
        """
        assert self._held is not None  # noqa: S101 - there is something to refresh
        self._provide(self._held.port, None, None)
        self._provider.context.token_expiry_time = _LONG_AGO
        await self._run(None)
        if not self._provider.context.is_token_valid():
            raise NotGiven("the issuer refreshed nothing")
        return self._given(self._held.port)

    async def sign_in(self, answer: httpx2.Response, door: Door, show: Show) -> SignedIn:
        """A token with the person's help.

        Args:
            answer: The server's 401 or 403.
            door: Where the browser comes back to.
            show: Brings the person to a page.

        Raises:
            NotGiven: The issuer gave none, or the person refused.
        """
        states: list[str] = []

        async def opened(address: str) -> None:
            states.append(parse_qs(urlsplit(address).query)["state"][0])
            if not is_guarded(address):
                raise NotGiven("the issuer's page is not on https")
            await show(address)

        async def returned() -> AuthorizationCodeResult:
            came = await door.returned(states[-1])
            if not came.code:
                raise NotGiven(f"the issuer refused it ({_word(came.error)})")
            return AuthorizationCodeResult(code=came.code, state=states[-1], iss=came.issuer)

        self._provide(door.port, opened, returned)
        await self._run(answer)
        return self._given(door.port)

    def _provide(self, port: int, opened: Show | None, returned: Callable[[], Awaitable[AuthorizationCodeResult]] | None) -> None:
        metadata = OAuthClientMetadata(
            client_name="Remit",
            redirect_uris=[AnyUrl(f"http://{HOST}:{port}{PATH}")],
            token_endpoint_auth_method="none",  # noqa: S106 - a public client: there is no password
        )
        self._provider = OAuthClientProvider(self._url, metadata, self._storage, opened, returned, client_metadata_url=self._document)
        context = self._provider.context
        if self._held is not None:
            context.oauth_metadata = OAuthMetadata.model_validate(self._held.metadata)
            context.auth_server_url = self._held.issuer
            if self._held.resource is not None:
                context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(self._held.resource)

    async def _run(self, answer: httpx2.Response | None) -> None:
        """Up to where the flow would send the request that it is for; with its answer, until it would send it again."""
        asked = httpx2.Request("POST", self._url, headers={"mcp-protocol-version": "2025-11-25"})
        try:
            async with (
                httpx2.AsyncClient(follow_redirects=False, timeout=_SECONDS) as client,
                aclosing(_steps(self._provider, asked)) as flow,
            ):
                await _until(flow, await anext(flow), asked, client)
                if answer is not None:
                    await _until(flow, await flow.asend(answer), asked, client)
        except (OAuthFlowError, ValidationError, httpx2.HTTPError, httpx2.InvalidURL, KeyError, StopAsyncIteration) as error:
            raise NotGiven(_reason(error)) from None

    def _given(self, port: int) -> SignedIn:
        context, client, tokens = self._provider.context, self._storage.client, self._storage.tokens
        if client is None or tokens is None or context.oauth_metadata is None:
            raise NotGiven("the server names no issuer that can be used")
        resource = context.protected_resource_metadata
        return SignedIn(
            issuer=context.auth_server_url or str(context.oauth_metadata.issuer),
            client=client.model_dump(mode="json", exclude_none=True),
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
            metadata=context.oauth_metadata.model_dump(mode="json", exclude_none=True),
            resource=None if resource is None else resource.model_dump(mode="json", exclude_none=True),
            port=port,
        )


Steps = AsyncGenerator[httpx2.Request, httpx2.Response]


def _steps(provider: OAuthClientProvider, request: httpx2.Request) -> Steps:
    return provider.async_auth_flow(request)


async def _until(flow: Steps, step: httpx2.Request, asked: httpx2.Request, client: httpx2.AsyncClient) -> None:
    while step is not asked:
        if not is_guarded(str(step.url)):
            raise NotGiven(f"{step.url.scheme}://{step.url.host} is not on https, so nothing is sent there")
        step = await flow.asend(await client.send(step))


def _client(held: SignedIn | None, client_id: str | None) -> OAuthClientInformationFull | None:
    """Who the bridge is to the issuer, where that is known before the flow."""
    if client_id is not None:
        return OAuthClientInformationFull(client_id=client_id)
    return None if held is None else OAuthClientInformationFull.model_validate(held.client)


def _reason(error: Exception) -> str:
    """In words of our own: what an issuer sent may hold secrets."""
    match error:
        case OAuthRegistrationError():
            return "the issuer registers no client by itself; ask the operator for a client id and give it with --client-id"
        case OAuthTokenError():
            found = re.search(r'"error"\s*:\s*"([a-z_]+)"', str(error))
            return f"the issuer gave no token ({found[1] if found else 'no reason that is known'})"
        case OAuthFlowError():
            return _word(str(error), 200)
        case httpx2.HTTPError():
            return f"the issuer cannot be reached ({type(error).__name__})"
        case _:
            return "the issuer sent something that cannot be used"


def _word(text: str, most: int = 60) -> str:
    """Something short of an issuer's that can steer no terminal."""
    return "".join(sign for sign in text[:most] if sign.isprintable())
