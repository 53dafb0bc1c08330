"""A server behind a sign-in, as signing in sees it: its metadata, and one address that takes tokens of its issuer for itself alone."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mcp_server.protocol.sign_in.given import Returned
from tests.connect.authorizing import Authorizing, authorizing, running_app


@dataclass(slots=True, kw_only=True)
class Guarded:
    """The server, and what it saw."""

    issuer: Authorizing
    names: list[str] = field(default_factory=list[str])
    """Issuers that it names."""
    url: str = ""
    taken: list[str] = field(default_factory=list[str])
    """Tokens that came and counted."""
    outdated: set[str] = field(default_factory=set[str])
    """Tokens that count no more."""
    probed: int = 0
    """Requests that came without a token."""

    async def metadata(self, _: Request) -> Response:
        return JSONResponse({"resource": self.url, "authorization_servers": self.names or [self.issuer.url]})

    async def mcp(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.probed += token == ""
        if not token or token in self.outdated:
            where = self.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
            return Response(status_code=401, headers={"www-authenticate": f'Bearer resource_metadata="{where}"'})
        self.taken.append(token)
        return JSONResponse({"ok": True})


@asynccontextmanager
async def guarded() -> AsyncGenerator[Guarded]:
    async with authorizing() as issuer:
        server = Guarded(issuer=issuer)
        app = Starlette(
            routes=[
                Route("/.well-known/oauth-protected-resource/mcp", server.metadata),
                Route("/mcp", server.mcp, methods=["POST"]),
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
    _back: str = ""

    async def show(self, page: str) -> None:
        self.shown.append(page)
        async with httpx2.AsyncClient(follow_redirects=False) as client:
            self._back = (await client.get(page)).headers["location"]

    async def returned(self, state: str) -> Returned:
        assert self._back.startswith(self.address)
        said = {name: values[0] for name, values in parse_qs(urlsplit(self._back).query).items()}
        assert said["state"] == state
        return Returned(code=said.get("code", ""), error=said.get("error", ""), issuer=said.get("iss"))
