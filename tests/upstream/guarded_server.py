"""A server behind a sign-in, as signing in sees it: its metadata, and one address that takes tokens of its issuer for itself alone."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.protocol.sign_in.given import Returned
from mcp_server.settings.upstream import UpstreamOauth
from tests.bounds import LONG
from tests.connect.authorizing import Authorizing, authorizing, running_app

ANYBODY = TransportSecuritySettings(enable_dns_rebinding_protection=False)


@dataclass(slots=True, kw_only=True)
class Guarded:
    """The server, and what it saw."""

    issuer: Authorizing
    names: list[str] = field(default_factory=list[str])
    """Issuers that it names."""
    who: list[UpstreamOauth] = field(default_factory=list[UpstreamOauth])
    """What settings say of Remit's client there, where a test says it."""
    url: str = ""
    taken: list[str] = field(default_factory=list[str])
    """Tokens that came and counted."""
    outdated: set[str] = field(default_factory=set[str])
    """Tokens that count no more."""
    probed: int = 0
    """Requests that came without a token."""
    named: bool = True
    """Whether it says who its issuer is."""
    behind: ASGIApp | None = None
    """What answers who is let in; None: the same word for everybody."""

    async def metadata(self, _: Request) -> Response:
        if not self.named:
            return Response(status_code=404)
        return JSONResponse({"resource": self.url, "authorization_servers": self.names or [self.issuer.url]})

    async def mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = Request(scope).headers.get("authorization", "").removeprefix("Bearer ")
        self.probed += token == ""
        if not token or token in self.outdated:
            where = self.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
            refused = Response(status_code=401, headers={"www-authenticate": f'Bearer resource_metadata="{where}"'})
            await refused(scope, receive, send)
            return
        self.taken.append(token)
        await (self.behind or JSONResponse({"ok": True}))(scope, receive, send)


class _Door:
    """An endpoint that Starlette takes for an application, whatever the method."""

    def __init__(self, server: Guarded) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._server.mcp(scope, receive, send)


@asynccontextmanager
async def guarded(behind: Server[Any] | None = None) -> AsyncGenerator[Guarded]:
    """From when it listens until it has ended. `behind`: the MCP server that is guarded."""
    async with AsyncExitStack() as stack:
        issuer = await stack.enter_async_context(authorizing())
        inner = None if behind is None else behind.streamable_http_app(streamable_http_path="/mcp", transport_security=ANYBODY)
        if inner is not None:
            await stack.enter_async_context(inner.router.lifespan_context(inner))
        server = Guarded(issuer=issuer, behind=inner)
        app = Starlette(
            routes=[
                Route("/.well-known/oauth-protected-resource/mcp", server.metadata),
                Route("/mcp", _Door(server)),
            ]
        )
        async with running_app(app) as origin:
            server.url = f"{origin}/mcp"
            yield server


@dataclass(slots=True)
class Browser:
    """A person who agrees to whatever page they are brought to, and comes back."""

    address: str = "https://remit.example.org/console/upstreams/back"
    shown: list[str] = field(default_factory=list[str])
    back: str = ""
    """The address that the issuer sent the browser to."""

    async def show(self, page: str) -> None:
        self.shown.append(page)
        async with httpx2.AsyncClient(follow_redirects=False, timeout=LONG) as client:
            self.back = (await client.get(page)).headers["location"]

    @property
    def brought(self) -> dict[str, str]:
        """What it brings from there."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.back).query).items()}

    async def returned(self, state: str) -> Returned:
        assert self.back.startswith(self.address)
        said = self.brought
        assert said["state"] == state
        return Returned(code=said.get("code", ""), error=said.get("error", ""), issuer=said.get("iss"))
