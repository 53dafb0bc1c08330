"""The Python SDK's own OAuth flow, with a window of a real browser in which somebody signs in."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from playwright.async_api import Page
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.authorization.records import Member
from tests.authorization.walking import signs_in
from tests.bounds import LONG
from tests.connect.authorizing import running_app
from tests.protocol.connect import Era, Person


class Pocket:
    """Where the SDK keeps what it was given, for as long as a test."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass(slots=True, kw_only=True)
class Signing:
    """Somebody at a browser, and the program that they sign in for."""

    page: Page
    member: Member
    back: str
    """Where the browser is sent back to."""
    pocket: Pocket = field(default_factory=Pocket)
    pages: list[str] = field(default_factory=list[str])
    """Addresses that the program sent the browser to."""
    _came: list[Request] = field(default_factory=list[Request])
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    async def sent(self, address: str) -> None:
        """The program's page opens, and the person goes through it."""
        self.pages.append(address)
        self._arrived = anyio.Event()
        await self.page.goto(address)
        await signs_in(self.page, self.member)

    async def returned(self) -> AuthorizationCodeResult:
        with anyio.fail_after(LONG):
            await self._arrived.wait()
        said = self._came[-1].query_params
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    def arrives(self, request: Request) -> Response:
        self._came.append(request)
        self._arrived.set()
        return PlainTextResponse("go back to your program")

    def provider(self, url: str) -> OAuthClientProvider:
        metadata = OAuthClientMetadata(
            client_name="a program",
            redirect_uris=[AnyUrl(self.back)],
            token_endpoint_auth_method="none",  # noqa: S106 - a public client: there is no password
        )
        return OAuthClientProvider(url, metadata, self.pocket, self.sent, self.returned)


@asynccontextmanager
async def signing(page: Page, member: Member) -> AsyncGenerator[Signing]:
    """A program that waits at a port of its own for the browser to come back."""
    held = Signing(page=page, member=member, back="")

    async def arrives(request: Request) -> Response:
        return held.arrives(request)

    async with running_app(Starlette(routes=[Route("/callback", arrives)])) as origin:
        held.back = f"{origin}/callback"
        yield held


@asynccontextmanager
async def program(url: str, provider: OAuthClientProvider, era: Era, person: Person | None = None) -> AsyncGenerator[Client]:
    """The SDK's client with its own OAuth."""
    async with httpx2.AsyncClient(auth=provider, timeout=LONG) as wire:
        mode = "legacy" if era == "2025-11-25" else "auto"
        transport = streamable_http_client(url, http_client=wire)
        async with Client(transport, mode=mode, elicitation_callback=person, read_timeout_seconds=2 * LONG) as client:
            assert client.protocol_version == era, "the client fell back to another era"
            yield client
