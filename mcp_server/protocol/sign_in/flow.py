"""One pass of the SDK's OAuth flow, with nothing but its own requests on the wire, and none of them in plain text beyond this machine."""

import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
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
from pydantic import AnyUrl, SecretStr

from mcp_server.protocol.sign_in.given import NotGiven, Send, Show, SignedIn, Threshold
from mcp_server.settings.loopback import is_guarded

_SECONDS = 20.0
"""For one request to an issuer."""

LONGEST = 10 * 365 * 24 * 3600
"""Seconds that a token may say it counts."""

_LONG_AGO = 1.0
"""Seconds since 1970: a token that ended then is refreshed."""

# The SDK logs what an issuer sent word by word; that may hold tokens.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)

Way = Callable[[], AbstractAsyncContextManager[Send]]


@asynccontextmanager
async def plain_way() -> AsyncGenerator[Send]:
    """Wherever the addresses lead."""
    async with httpx2.AsyncClient(follow_redirects=False, timeout=_SECONDS) as client:
        yield client.send


@dataclass(frozen=True, slots=True, kw_only=True)
class As:
    """Who Remit is to the issuer, as far as that is known before the flow."""

    client_id: str | None = None
    """A client that was registered, or the https address of its metadata document; None: it registers itself."""
    client_secret: SecretStr | None = None
    issuer: str | None = None
    """The only one that is gone to; None: the one that the server names."""
    scope: str | None = None
    """What is asked for where the server does not say it."""

    @property
    def document(self) -> str | None:
        """The address of its metadata."""
        return self.client_id if self.client_id is not None and self.client_id.startswith("https://") else None

    def client(self, held: SignedIn | None) -> OAuthClientInformationFull | None:
        """As the SDK has it; None: it is still to be made."""
        if self.client_id is None or self.document is not None:
            return None if held is None else OAuthClientInformationFull.model_validate(held.client)
        if self.client_secret is None:
            return OAuthClientInformationFull(client_id=self.client_id)
        secret = self.client_secret.get_secret_value()
        return OAuthClientInformationFull(
            client_id=self.client_id,
            client_secret=secret,
            token_endpoint_auth_method="client_secret_basic",  # noqa: S106 - a method's name
        )


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


class _Provider(OAuthClientProvider):
    """The SDK's, at one issuer alone where one is named."""

    issuer: str | None = None
    wanted: str | None = None
    """Scopes to ask for where the server names none."""

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        self.context.client_metadata.scope = self.context.client_metadata.scope or self.wanted
        return await super()._perform_authorization_code_grant()

    def _expected_issuer(self) -> str:
        # Without the server's own word the issuer would be whatever lies at the server's address.
        if self.issuer is not None and self.context.auth_server_url is None:
            raise OAuthFlowError("the server does not name the issuer that the settings do")
        return super()._expected_issuer()

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if self.issuer is None:
            return super()._select_authorization_server(advertised)
        named = next((one for one in advertised if one.rstrip("/") == self.issuer.rstrip("/")), None)
        if named is None:
            raise OAuthFlowError("the server names another issuer than the settings do")
        return named


class Flow:
    """One pass. `held`: what an earlier one gave; `way`: to the issuer and the server."""

    def __init__(self, url: str, held: SignedIn | None, who: As, way: Way = plain_way) -> None:
        self._url = url
        self._held = held
        self._who = who
        self._way = way
        self._storage = _Storage(held, who.client(held))
        self._provider: _Provider

    async def refresh(self) -> SignedIn:
        """A token without the person.

        Raises:
            NotGiven: The issuer gave none.
        """
        assert self._held is not None  # noqa: S101 - there is something to refresh
        if self._who.issuer is not None and self._who.issuer.rstrip("/") != self._held.issuer.rstrip("/"):
            raise NotGiven("settings name another issuer now")
        self._provide(self._held.redirect, None, None)
        self._provider.context.token_expiry_time = _LONG_AGO
        await self._run(None)
        if not self._provider.context.is_token_valid():
            raise NotGiven("the issuer refreshed nothing")
        return self._given(self._held.redirect)

    async def sign_in(self, answer: httpx2.Response, threshold: Threshold, show: Show) -> SignedIn:
        """A token with the person's help.

        Args:
            answer: The server's 401 or 403.
            threshold: Where the browser comes back to.
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
            came = await threshold.returned(states[-1])
            if not came.code:
                raise NotGiven(f"the issuer refused it ({_word(came.error)})")
            return AuthorizationCodeResult(code=came.code, state=states[-1], iss=came.issuer)

        self._provide(threshold.address, opened, returned)
        await self._run(answer)
        return self._given(threshold.address)

    def _provide(self, redirect: str, opened: Show | None, returned: Callable[[], Awaitable[AuthorizationCodeResult]] | None) -> None:
        metadata = OAuthClientMetadata(
            client_name="Remit",
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method="none",  # noqa: S106 - a public client: there is no password
        )
        self._provider = _Provider(self._url, metadata, self._storage, opened, returned, client_metadata_url=self._who.document)
        self._provider.issuer, self._provider.wanted = self._who.issuer, self._who.scope
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
            async with self._way() as send, aclosing(_steps(self._provider, asked)) as flow:
                await _until(flow, await anext(flow), asked, send)
                if answer is not None:
                    await _until(flow, await flow.asend(answer), asked, send)
        except NotGiven:
            raise
        except Exception as error:  # whatever a server or an issuer sends is no fault of whoever signs in
            raise NotGiven(_reason(error)) from None

    def _given(self, redirect: str) -> SignedIn:
        context, client, tokens = self._provider.context, self._storage.client, self._storage.tokens
        if client is None or tokens is None or context.oauth_metadata is None:
            raise NotGiven("the server names no issuer that can be used")
        resource = context.protected_resource_metadata
        return SignedIn(
            issuer=context.auth_server_url or str(context.oauth_metadata.issuer),
            client=client.model_dump(mode="json", exclude_none=True),
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=None if tokens.expires_in is None else time.time() + min(tokens.expires_in, LONGEST),
            metadata=context.oauth_metadata.model_dump(mode="json", exclude_none=True),
            resource=None if resource is None else resource.model_dump(mode="json", exclude_none=True),
            redirect=redirect,
        )


Steps = AsyncGenerator[httpx2.Request, httpx2.Response]


def _steps(provider: OAuthClientProvider, request: httpx2.Request) -> Steps:
    return provider.async_auth_flow(request)


async def _until(flow: Steps, step: httpx2.Request, asked: httpx2.Request, send: Send) -> None:
    while step is not asked:
        if not is_guarded(str(step.url)):
            raise NotGiven(f"{step.url.scheme}://{step.url.host} is not on https, so nothing is sent there")
        step = await flow.asend(await send(step))


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
