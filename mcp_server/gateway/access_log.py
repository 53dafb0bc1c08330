"""One line in the log for each request, and its numbers. No token, no argument, nothing else of what a client wrote but names."""

import re
import time
from collections.abc import Collection
from urllib.parse import urlsplit

import structlog
from mcp_types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_server.gateway.challenges import WELL_KNOWN
from mcp_server.gateway.seen import SEEN, Seen, client_of
from mcp_server.settings.gateway import Gateway
from mcp_server.telemetry import names
from mcp_server.telemetry.base import RequestTold, Telemetry

log = structlog.get_logger("access")

_NAME = re.compile(r"[A-Za-z0-9_./$-]{1,64}")
"""Of a method or a tool. Anything else may hold whatever somebody put there."""

UNFIT = "(unfit)"
OTHER = "(other)"
"""A path that leads nowhere here."""


METHODS = frozenset({*SPEC_CLIENT_METHODS, *SPEC_CLIENT_NOTIFICATION_METHODS, "tasks/get", "tasks/update", "tasks/cancel"})
"""All that a client may ask, in either era, with the extension for tasks."""


class AccessLog:
    """Outermost: sees also what is turned away."""

    def __init__(self, app: ASGIApp, gateway: Gateway, telemetry: Telemetry, tools: Collection[str]) -> None:
        """`tools`: those that there are."""
        self._app = app
        self._path = urlsplit(gateway.url or "").path
        self._console = urlsplit(gateway.console_url or "").path
        self._written = gateway.access_log
        self._telemetry = telemetry
        self._tools = frozenset(tools)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen, began = Seen(), time.perf_counter()
        status: int | None = None
        sent = 0

        async def noting(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app({**scope, SEEN: seen}, receive, noting)
        finally:
            self._tell(scope, seen, status, sent, time.perf_counter() - began)

    def _tell(self, scope: Scope, seen: Seen, status: int | None, sent: int, seconds: float) -> None:
        """`status` None: the client hung up before it was answered."""
        route = self._route(scope["path"])
        told = RequestTold(
            http_method=scope["method"],
            route=route,
            status=status,
            seconds=seconds,
            method=_told(seen.method, METHODS),
            tool=_told(seen.tool, self._tools),
            team=seen.teams[0] if seen.teams else "",
            verdict=seen.verdict,
        )
        self._telemetry.request(told)
        if self._written:
            log.info(
                "request",
                http=told.http_method,
                path=route,
                method=_fit(seen.method),
                tool=_fit(seen.tool),
                principal=seen.principal or None,
                teams=list(seen.teams),
                status=status,
                verdict=seen.verdict or None,
                seconds=round(seconds, 4),
                bytes=sent,
                client=client_of(scope),
                trace=seen.trace or None,
            )

    def _route(self, path: str) -> str:
        """The path as far as it is ours."""
        if path == self._path or path.startswith(f"{self._path}/"):
            return self._path
        if self._console and (path == self._console or path.startswith(f"{self._console}/")):
            return self._console
        return WELL_KNOWN if path.startswith(WELL_KNOWN) else OTHER


def _fit(name: str) -> str | None:
    return (name if _NAME.fullmatch(name) else UNFIT) if name else None


def _told(name: str, known: Collection[str]) -> str:
    """Of a closed list: each name that is told makes a row of numbers of its own."""
    return name if not name or name in known else names.OTHER
