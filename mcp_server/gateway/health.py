"""Whether a gateway lives, whether it is ready, and its numbers: for what starts it, stands in front of it and watches it.

The gateway's own address says whether and no more. Why, and the numbers, are for an address of their own that settings name.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.errors import StoreError
from mcp_server.gateway.issuers import Keys
from mcp_server.gateway.leaving import AGAIN, Leaving
from mcp_server.store.protocol import Store
from mcp_server.telemetry.base import Scrape

HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"

STORE_SECONDS = 2.0
"""For the store to say its number. It takes less than a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "note", "wrong"]
    """`note`: wrong, and no reason to send callers elsewhere."""
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What readiness hangs on."""

    leaving: Leaving
    store: Store
    issuers: Sequence[Keys]
    notes: Callable[[], Sequence[str]]
    """What is wrong with settings that changed, or waits for a restart."""

    async def looks(self) -> tuple[Look, ...]:
        """All of it, as it is now."""
        ending = Look(name="ending", state="wrong", says="the server is ending") if self.leaving.begun else Look(name="ending", state="ok")
        return (ending, await self._store(), *await self._issuers(), *self._settings())

    async def _store(self) -> Look:
        try:
            with anyio.fail_after(STORE_SECONDS):
                await self.store.changed()
        except (StoreError, TimeoutError) as error:
            return Look(name="store", state="wrong", says=str(error) or "it does not answer")
        return Look(name="store", state="ok")

    async def _issuers(self) -> list[Look]:
        """While the keys of one can be had, there is somebody to serve."""
        lacking = {keys.issuer: await keys.lacking() for keys in self.issuers}
        none = bool(lacking) and all(lacking.values())
        state = "wrong" if none else "note"
        return [Look(name=f"issuer {issuer}", state=state if says else "ok", says=says) for issuer, says in lacking.items()]

    def _settings(self) -> list[Look]:
        return [Look(name="settings", state="note", says=says) for says in self.notes()] or [Look(name="settings", state="ok")]


def ready(looks: Sequence[Look]) -> bool:
    """Should callers be sent here?"""
    return all(look.state != "wrong" for look in looks)


class Health:
    """In front of everything else at the gateway's address: those who ask are no callers, know no host's name, and are not logged."""

    def __init__(self, app: ASGIApp, readiness: Readiness) -> None:
        self._app = app
        self._readiness = readiness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"] not in (HEALTH, READY):
            await self._app(scope, receive, send)
            return
        await_ready = scope["path"] == READY
        answer = _whether(ready(await self._readiness.looks())) if await_ready else PlainTextResponse("ok")
        await answer(scope, receive, send)


def watching_app(readiness: Readiness, scrape: Scrape) -> Starlette:
    """What is served at the address for those who watch."""

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    async def readyz(_: Request) -> Response:
        looks = await readiness.looks()
        body = {"ready": ready(looks), "looks": [{"name": one.name, "state": one.state, "says": one.says} for one in looks]}
        return JSONResponse(body, 200 if ready(looks) else 503)

    async def metrics(request: Request) -> Response:
        content, kind = await to_thread.run_sync(scrape, request.headers.get("accept", ""))
        return Response(content, headers={"content-type": kind})

    places: dict[str, Callable[[Request], Awaitable[Response]]] = {HEALTH: health, READY: readyz, METRICS: metrics}
    return Starlette(routes=[Route(path, answer) for path, answer in places.items()])


def _whether(is_ready: bool) -> Response:
    if is_ready:
        return PlainTextResponse("ready")
    return PlainTextResponse("not ready", 503, {"retry-after": str(int(AGAIN))})
