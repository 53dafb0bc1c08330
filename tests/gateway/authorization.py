"""An authorization server of the tests' own: real keys and tokens made with joserfc, served on loopback."""

import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import uvicorn
from joserfc import jws
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey
from joserfc.jwt import encode
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mcp_server.protocol.http import listen

Key = RSAKey | ECKey | OKPKey | OctKey

EVERY = list(jws.JWSRegistry.algorithms)
"""Also what no sane server uses: for forging."""


def rsa(kid: str, bits: int = 2048) -> RSAKey:
    return RSAKey.generate_key(bits, {"kid": kid})


_UNUSED: list[RSAKey] = []
"""Keys of issuers that are gone. Making one takes longer than most of what is tried with it."""


@contextmanager
def lent_key() -> Generator[RSAKey]:
    """A key that no other issuer has meanwhile."""
    key = _UNUSED.pop() if _UNUSED else rsa("first")
    try:
        yield key
    finally:
        _UNUSED.append(key)


def signed(claims: Mapping[str, Any], key: Key, header: Mapping[str, Any] | None = None) -> str:
    """A token. `header` goes on top of the usual one."""
    whole = {"alg": "RS256", "typ": "at+jwt", "kid": key.kid, **(header or {})}
    return encode({name: value for name, value in whole.items() if value is not None}, dict(claims), key, EVERY)


@dataclass(slots=True, kw_only=True)
class Issuer:
    """One issuer: its keys, and what it was asked."""

    url: str
    keys: list[Key] = field(default_factory=lambda: [rsa("first")])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """On top of the usual."""
    asked: list[str] = field(default_factory=list[str])
    broken: bool = False
    """Answers with failures alone."""
    opaque: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Opaque tokens and what introspection says of each."""
    grown: bool = False
    """Its documents are far larger than they ought to be."""

    def claims(self, **said: Any) -> dict[str, Any]:
        """Those of a good token for `audience`."""
        now = int(time.time())
        usual = {"iss": self.url, "sub": "ada", "client_id": "editor", "iat": now, "nbf": now, "exp": now + 600}
        return {name: value for name, value in {**usual, **said}.items() if value is not None}

    def token(self, audience: str, *, key: Key | None = None, header: Mapping[str, Any] | None = None, **said: Any) -> str:
        """A good token, but for what is said; a claim of None is left out."""
        return signed(self.claims(**{"aud": audience, **said}), key or self.keys[0], header)

    def rotate(self, kid: str) -> None:
        """Sign with a new key from now on, and publish that alone."""
        self.keys = [rsa(kid)]

    # ---- what is served -------------------------------------------------------------------------

    async def discovery(self, request: Request) -> Response:
        usual = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", "introspection_endpoint": f"{self.url}/introspect"}
        return self._answer(request, {**usual, **self.metadata})

    async def jwks(self, request: Request) -> Response:
        return self._answer(request, cast("dict[str, Any]", KeySet(list(self.keys)).as_dict(private=False)))

    async def introspect(self, request: Request) -> Response:
        form = await request.form()
        return self._answer(request, self.opaque.get(str(form["token"]), {"active": False}))

    def _answer(self, request: Request, document: dict[str, Any]) -> Response:
        self.asked.append(request.url.path)
        if self.broken:
            return JSONResponse({}, 503)
        if self.grown:
            document = {**document, "padding": "x" * 1_000_000}
        return JSONResponse(document)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.discovery),
                Route("/keys", self.jwks),
                Route("/introspect", self.introspect, methods=["POST"]),
            ]
        )


@asynccontextmanager
async def issuing() -> AsyncGenerator[Issuer]:
    """An issuer on a free port of loopback."""
    with listen("127.0.0.1", 0) as sock, lent_key() as key:
        issuer = Issuer(url=f"http://127.0.0.1:{sock.getsockname()[1]}", keys=[key])
        running = uvicorn.Server(
            uvicorn.Config(issuer.app(), log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1)
        )
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            try:
                yield issuer
            finally:
                running.should_exit = True
