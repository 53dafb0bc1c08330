"""The authorization server on a real port: its documents, its endpoints, and the two pages that a browser is led through."""

import html
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import anyio
import uvicorn
from authlib.oauth2.rfc6749.errors import OAuth2Error
from joserfc.jwk import KeySet
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp_server.protocol.http import listen
from tests.authorization.engine import DocumentRequest, Engine, FormRequest, metadata
from tests.authorization.records import Granted, Member, Registered
from tests.gateway.authorization import Issuer, lent_key

COOKIE = "signed_in"


@dataclass(slots=True, kw_only=True)
class SignIn(Issuer):
    """An issuer that people sign in at. What `Issuer` has of keys, made-up tokens and faults is here too."""

    engine: Engine = field(init=False)
    visits: dict[str, str] = field(default_factory=dict[str, str])
    """Names of members, by the cookie of a browser that signed in."""
    scopes: list[str] = field(default_factory=list[str])
    """What each consent page was shown for."""
    entered: int = 0
    """Times that somebody gave a password."""

    def __post_init__(self) -> None:
        self.engine = Engine(self.url, lambda: KeySet(list(self.keys[:1])))

    def member(self, name: str, **claims: Any) -> Member:
        """Somebody new."""
        return self.engine.people.setdefault(name, Member(name=name, claims=claims))

    def client(self, name: str, *redirects: str, secret: str | None = None) -> Registered:
        """A client that needs not register."""
        return self.engine.clients.setdefault(name, Registered(id=name, redirects=list(redirects), secret=secret))

    # ---- what is served -------------------------------------------------------------------------

    async def discovery(self, request: Request) -> Response:
        return self._answer(request, {**metadata(self.url), **self.metadata})

    async def authorize(self, request: Request) -> Response:
        """The page to sign in at, or the one to agree on."""
        asked = dict(request.query_params)
        name = self.visits.get(request.cookies.get(COOKIE, ""))
        form = FormRequest("GET", str(request.url), asked, request.headers)
        try:
            grant = self.engine.asked_for(form, name)
        except OAuth2Error as error:
            return _page("Refused", f"<p>{html.escape(str(error))}</p>", status=400)
        if name is None or "login" in asked.get("prompt", "").split():
            return _page("Sign in", _form("/enter", asked, '<input name="username"><input name="password" type="password">', "Sign in"))
        scope = grant.request.scope
        self.scopes.append(scope)
        what = f"<p>{html.escape(asked['client_id'])} asks for <code>{html.escape(scope)}</code>.</p>"
        buttons = '<button name="agreed" value="yes">Agree</button><button name="agreed" value="no">Refuse</button>'
        return _page("Agree", what + _form("/agree", asked, buttons))

    async def enter(self, request: Request) -> Response:
        """Who signs in, back to where they came from."""
        said = await _said(request)
        member = self.engine.people.get(said.pop("username"))
        if member is None or not secrets.compare_digest(member.password, said.pop("password")):
            return _page("Refused", "<p>No such name and password.</p>", status=403)
        self.entered += 1
        cookie = secrets.token_urlsafe(24)
        self.visits[cookie] = member.name
        answer = RedirectResponse(f"/authorize?{urlencode({**said, 'prompt': 'consent'})}", 303)
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="lax")
        return answer

    async def agree(self, request: Request) -> Response:
        """The code, or a refusal, to the client."""
        said = await _said(request)
        agreed = said.pop("agreed") == "yes"
        member = self.engine.people[self.visits[request.cookies[COOKIE]]]
        form = FormRequest("POST", str(request.url), said, request.headers)
        grant = self.engine.asked_for(form, member.name)
        granted = Granted(member=member, resource=said.get("resource"))
        return self.engine.decided(form, granted if agreed else None, grant)

    async def token_page(self, request: Request) -> Response:
        return self.engine.tokens(await _posted(request))

    async def introspect(self, request: Request) -> Response:
        form = await _posted(request)
        if form.form.get("token") in self.opaque:
            return self._answer(request, self.opaque[form.form["token"]])
        self.asked.append(request.url.path)
        return self.engine.endpoint("introspection", form)

    async def revoke(self, request: Request) -> Response:
        return self.engine.endpoint("revocation", await _posted(request))

    async def register(self, request: Request) -> Response:
        document = DocumentRequest(str(request.url), await request.body())
        return self.engine.endpoint("client_registration", document)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.discovery),
                Route("/.well-known/openid-configuration", self.discovery),
                Route("/keys", self.jwks),
                Route("/authorize", self.authorize),
                Route("/enter", self.enter, methods=["POST"]),
                Route("/agree", self.agree, methods=["POST"]),
                Route("/token", self.token_page, methods=["POST"]),
                Route("/introspect", self.introspect, methods=["POST"]),
                Route("/revoke", self.revoke, methods=["POST"]),
                Route("/register", self.register, methods=["POST"]),
            ]
        )


async def _said(request: Request) -> dict[str, str]:
    return {name: str(value) for name, value in (await request.form()).items()}


async def _posted(request: Request) -> FormRequest:
    return FormRequest("POST", str(request.url), await _said(request), request.headers)


def _form(action: str, asked: dict[str, str], inner: str, button: str | None = None) -> str:
    kept = "".join(f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">' for name, value in asked.items())
    last = "" if button is None else f"<button>{button}</button>"
    return f'<form method="post" action="{action}">{kept}{inner}{last}</form>'


def _page(title: str, inner: str, *, status: int = 200) -> Response:
    return HTMLResponse(f"<!doctype html><title>{title}</title><h1>{title}</h1>{inner}", status)


@asynccontextmanager
async def signing_in(port: int = 0) -> AsyncGenerator[SignIn]:
    """One on a free port of loopback."""
    with listen("127.0.0.1", port) as sock, lent_key() as key:
        server = SignIn(url=f"http://127.0.0.1:{sock.getsockname()[1]}", keys=[key])
        config = uvicorn.Config(server.app(), log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            try:
                yield server
            finally:
                running.should_exit = True
