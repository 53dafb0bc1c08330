"""An authorization server of the tests' own: registration, a page that agrees at once, PKCE, rotating refresh tokens, revocation."""

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp_server.protocol.http import listen
from tests.gateway.authorization import Issuer, lent_key


@dataclass(slots=True, kw_only=True)
class Authorizing(Issuer):
    """One that people sign in at."""

    clients: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Redirect addresses by client."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    refreshing: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """What each refresh token that counts is for."""
    given: list[str] = field(default_factory=list[str])
    """Every token, code and verifier that ever was on the wire."""
    pages: int = 0
    """Times that the sign-in page was shown."""
    grants: list[str] = field(default_factory=list[str])
    exchanged: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """What tokens were to be exchanged."""
    lasting: int = 600
    """Seconds that an access token counts."""
    refuses: str = ""
    """What the page answers with in place of a code."""
    replaced_state: str = ""
    """What the page sends back in place of the state it was given, before the right one."""
    registers: bool = True
    scopes: list[str] = field(default_factory=list[str])
    """Asked for, one text a sign-in."""

    async def discovery(self, request: Request) -> Response:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "revocation_endpoint": "revoke"}
        if self.registers:
            places["registration_endpoint"] = "register"
        self.metadata = {
            **{name: f"{self.url}/{path}" for name, path in places.items()},
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            **self.metadata,
        }
        return await Issuer.discovery(self, request)

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        name = f"client-{len(self.clients)}"
        self.clients[name] = asked["redirect_uris"]
        return JSONResponse({**asked, "client_id": name}, 201)

    async def authorize(self, request: Request) -> Response:
        said = dict(request.query_params)
        self.pages += 1
        self.scopes.append(said.get("scope", ""))
        known = self.clients.get(said["client_id"])
        assert known is None or said["redirect_uri"] in known, "another redirect address than the registered one"
        assert said["code_challenge_method"] == "S256"
        if self.refuses:
            return _back(said, error=self.refuses)
        code = secrets.token_urlsafe(24)
        self.given.append(code)
        self.codes[code] = said
        if self.replaced_state:
            return _back({**said, "state": self.replaced_state}, code=code)
        return _back(said, code=code)

    async def token_page(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.grants.append(form["grant_type"])
        if form["grant_type"] == "refresh_token":
            self.given.append(form["refresh_token"])
            asked = self.refreshing.pop(form["refresh_token"], None)
        else:
            self.given.append(form["code_verifier"])
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if asked is not None and base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
                asked = None
        if asked is None or asked["client_id"] != form["client_id"]:
            return JSONResponse({"error": "invalid_grant", "note": "secret-in-an-error"}, 400)
        return JSONResponse(self._tokens(asked))

    def _tokens(self, asked: dict[str, str]) -> dict[str, Any]:
        scope = asked.get("scope", "")
        access = self.token(
            asked["resource"], client_id=asked["client_id"], exp=int(time.time()) + self.lasting, scope=scope, jti=secrets.token_hex(8)
        )
        refresh = secrets.token_urlsafe(24)
        self.refreshing[refresh] = asked
        self.given += [access, refresh]
        said = {"access_token": access, "token_type": "Bearer", "expires_in": self.lasting, "refresh_token": refresh, "scope": scope}
        return {name: value for name, value in said.items() if value != ""}

    async def exchange(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.exchanged.append(form)
        return JSONResponse({"access_token": f"exchanged-{len(self.exchanged)}", "token_type": "Bearer", "expires_in": 300})

    async def revoke(self, request: Request) -> Response:
        form = await request.form()
        self.refreshing.pop(str(form["token"]), None)
        self.asked.append("/revoke")
        return Response(status_code=200)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.discovery),
                Route("/keys", self.jwks),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token_page, methods=["POST"]),
                Route("/exchange", self.exchange, methods=["POST"]),
                Route("/revoke", self.revoke, methods=["POST"]),
            ]
        )


def _back(said: dict[str, str], **more: str) -> Response:
    return RedirectResponse(f"{said['redirect_uri']}?{urlencode({'state': said['state'], **more})}", 302)


@asynccontextmanager
async def running_app(app: Starlette, port: int = 0) -> AsyncGenerator[str]:
    """Any application on loopback; yields its origin."""
    with listen("127.0.0.1", port) as sock:
        config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            try:
                yield f"http://127.0.0.1:{sock.getsockname()[1]}"
            finally:
                running.should_exit = True


@asynccontextmanager
async def authorizing() -> AsyncGenerator[Authorizing]:
    """One on a free port of loopback."""
    with listen("127.0.0.1", 0) as sock, lent_key() as key:
        server = Authorizing(url="", keys=[key])
        server.url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        config = uvicorn.Config(server.app(), log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            try:
                yield server
            finally:
                running.should_exit = True
