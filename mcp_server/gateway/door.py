"""The gateway's door: who may come in, from which page, with which token, and for what. Behind it is the SDK's own application.

Nobody's body is read before they are known.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

import anyio
import structlog
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.authentication import AuthCredentials
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_server.gateway.challenges import too_narrow, unknown
from mcp_server.gateway.requests import NAMED, Named, Unfit, again, bearer_of, body_of, contradicted, has, header, named_by
from mcp_server.gateway.seen import Seen, client_of, seen_of
from mcp_server.gateway.streams import LISTEN, LOOK, Lasting
from mcp_server.gateway.verified import VERIFIED, Refused, Verified
from mcp_server.settings.gateway import Gateway

log = structlog.get_logger("gateway")


class Verifies(Protocol):
    """Checks tokens."""

    async def verify(self, token: str) -> Verified:
        """Whose it is. Raises `Refused`."""
        ...


class Receives(Protocol):
    """What stands behind the door: an ASGI application, which knows whom it receives."""

    async def receives(self, scope: Scope, verified: Verified) -> bool:
        """Is whoever that is received at a request's address, as settings are now?"""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. `Verified` stands in the scope."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """A request that may go on to the application."""

    receive: Callable[[], Awaitable[Message]]
    lasts: bool
    """Its answer is a stream without end."""


class Hosts:
    """Lets requests for this address alone pass: a page in somebody's browser may have given its own name this machine's number."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        parts = urlsplit(gateway.url or "")
        usual = {"https": 443, "http": 80}[parts.scheme]
        own = (parts.netloc,) if parts.port is not None else (parts.netloc, f"{parts.netloc}:{usual}")
        self._hosts = frozenset(own if gateway.hosts is None else gateway.hosts)
        self._most = gateway.limits.header_bytes
        pages = f"{parts.scheme}://{parts.netloc}"
        console = () if gateway.console is None else (pages,)
        self._origins = frozenset((pages,) if gateway.origins is None else (*gateway.origins, *console))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http" and (wrong := self._wrong(scope)) is not None:
            log.warning("turned away", reason=wrong.reason, client=client_of(scope))
            await PlainTextResponse(wrong.reason, wrong.status)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _wrong(self, scope: Scope) -> Unfit | None:
        # uvicorn bounds those alone that do not arrive at once.
        if sum(len(name) + len(value) for name, value in scope["headers"]) > self._most:
            return Unfit(status=431, reason="The headers are too large.")
        if (header(scope, "host") or "").lower() not in self._hosts:
            return Unfit(status=421, reason="This host is not served here.")
        if has(scope, "origin") and (header(scope, "origin") or "").lower() not in self._origins:
            return Unfit(status=403, reason="Pages from there may not call.")
        return None


Came = Callable[[str, str, float | None], None]
"""Told the principal's key, the token, and when it ends."""


SLOW = 0.25
"""Seconds from which on a request took so long to arrive that its token is looked at again."""


class Told:
    """An authority that tells of each token that counts, where servers behind the gateway are reached with what callers come with."""

    def __init__(self, authority: Verifies, came: Came) -> None:
        self._authority = authority
        self._came = came

    async def verify(self, token: str) -> Verified:
        verified = await self._authority.verify(token)
        if verified.claims:  # an API key is nothing that an issuer would exchange
            self._came(verified.principal.key, token, verified.expires_at)
        return verified


class Door:
    """Lets known callers pass, and tells the application behind who they are."""

    def __init__(self, app: Receives, gateway: Gateway, authority: Verifies, *, look: float = LOOK) -> None:
        """`look`: seconds between two looks whether an open stream is still its caller's to have."""
        self._app = app
        self._gateway = gateway
        self._authority = authority
        self._look = look

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI, for one path."""
        verified = await self._known(scope)
        if verified is None:
            await unknown(self._gateway, token_given=has(scope, "authorization"))(scope, receive, send)
            return
        seen_of(scope).principal = verified.principal.key
        began = anyio.current_time()
        passes = await self._judged(scope, receive, verified)
        if isinstance(passes, Response):
            await passes(scope, receive, send)
        elif passes is not None and not await self._still(scope, verified, since=began):
            await unknown(self._gateway, token_given=True)(scope, receive, send)
        elif passes is not None:
            app = self._lasting(scope, verified) if passes.lasts else self._app
            await app({**scope, **_named(verified)}, passes.receive, send)

    async def _still(self, scope: Scope, verified: Verified, *, since: float) -> bool:
        """Does the token count once the request is here? Whoever sends it slowly may have been revoked meanwhile."""
        if anyio.current_time() - since < SLOW:
            return True
        now = await self._known(scope)
        return now is not None and now.principal == verified.principal

    async def _known(self, scope: Scope) -> Verified | None:
        token = bearer_of(scope)
        if token is None:
            return None
        try:
            return await self._authority.verify(token)
        except Refused as error:
            log.warning("a token was refused", reason=str(error), client=client_of(scope))
        except Exception as error:
            # Closed on every doubt. Without the error's own words, which may hold what was sent.
            log.error("a token could not be checked", fault=type(error).__name__, client=client_of(scope))
        return None

    def _lasting(self, scope: Scope, verified: Verified) -> ASGIApp:
        """The application, until the token does not count any more for who opened the stream with it, or they are not received there."""

        async def counts() -> bool:
            now = await self._known(scope)
            if now is None or now.principal != verified.principal or not self._reaches(now, self._gateway.scopes.required):
                return False
            return await self._app.receives(scope, now)

        return Lasting(self._app, counts, self._look)

    async def _judged(self, scope: Scope, receive: Receive, verified: Verified) -> Response | Passes | None:
        """What the application may read, or the answer in its place. None: nobody waits for one."""
        if not self._reaches(verified, self._gateway.scopes.required):
            return self._too_narrow(scope, verified, self._gateway.scopes.required)
        if scope["method"] != "POST":
            return Passes(receive=receive, lasts=scope["method"] == "GET")
        limits = self._gateway.limits
        content = await body_of(receive, most=limits.body_bytes, seconds=limits.request_seconds)
        if content is None:
            return None
        named = named_by(content) if isinstance(content, bytes) else content
        if isinstance(named, Unfit) or isinstance(content, Unfit):
            return PlainTextResponse(named.reason, named.status) if isinstance(named, Unfit) else None
        scope[NAMED] = named
        _note(seen_of(scope), named)
        if contradicted(scope, named):
            return PlainTextResponse("The headers name something else than the request.", 400)
        wanted = self._gateway.scopes.tools.get(named.name or "", []) if named.method == "tools/call" else []
        if not self._reaches(verified, wanted):
            return self._too_narrow(scope, verified, list(dict.fromkeys((*self._gateway.scopes.required, *wanted))))
        return Passes(receive=again(content, receive), lasts=named.method == LISTEN)

    def _reaches(self, verified: Verified, scopes: Collection[str]) -> bool:
        return verified.scopes.issuperset(scopes)

    def _too_narrow(self, scope: Scope, verified: Verified, scopes: Collection[str]) -> Response:
        log.info("a token does not reach so far", principal=verified.principal.key, needed=sorted(scopes), client=client_of(scope))
        return too_narrow(self._gateway, scopes)


def _note(seen: Seen, named: Named) -> None:
    seen.method = named.method or ""
    seen.tool = named.name or "" if named.method == "tools/call" else ""


def _named(verified: Verified) -> dict[str, object]:
    """What stands in the scope behind the door. The SDK binds sessions and sealed states to its `user`; the token goes no further."""
    principal = verified.principal
    access = AccessToken(
        token="",
        client_id=principal.client,
        scopes=sorted(verified.scopes),
        subject=principal.subject,
        claims={"iss": principal.issuer},
        expires_at=None if verified.expires_at is None else int(verified.expires_at),
    )
    return {"user": AuthenticatedUser(access), "auth": AuthCredentials(access.scopes), VERIFIED: verified}
