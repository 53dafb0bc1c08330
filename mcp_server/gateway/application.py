"""All that is served at a gateway's address, as one ASGI application."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from mcp_server.gateway.access_log import AccessLog
from mcp_server.gateway.challenges import metadata, metadata_paths
from mcp_server.gateway.connections import Connections
from mcp_server.gateway.door import LOOK, Came, Door, Hosts, Told, Verifies
from mcp_server.gateway.leaving import Leaving, UnderWay
from mcp_server.gateway.pacing import Paced
from mcp_server.gateway.proxies import behind
from mcp_server.gateway.reception import Received, Reception
from mcp_server.gateway.revoked import Standing
from mcp_server.protocol.lines import Line
from mcp_server.settings.gateway import Gateway
from mcp_server.telemetry.base import Telemetry

IDLE_SECONDS = 3600.0
"""As over loopback: a 2025-11-25 connection of which nothing was heard for so long is ended, and its root with it."""

METADATA_HEADERS = {"cache-control": "max-age=3600", "access-control-allow-origin": "*"}
"""It changes with a restart only, and holds nothing that a web page may not know."""


def gateway_app(
    server: Server[Line],
    gateway: Gateway,
    authority: Verifies,
    reception: Reception,
    *,
    leaving: Leaving,
    telemetry: Telemetry,
    tools: Collection[str],
    came: Came,
    console: ASGIApp | None = None,
    look: float = LOOK,
    idle: float = IDLE_SECONDS,
) -> ASGIApp:
    """The application. Its lifespan is the SDK's own.

    Args:
        server: What answers.
        gateway: The settings.
        authority: Says whose a token is.
        reception: Says who calls, where, and as what.
        leaving: How far the server's end has come.
        telemetry: Told of each request.
        tools: Those that there are.
        came: Told of the token that each request came with.
        console: The pages for people, where settings want them.
        look: Seconds between two looks whether an open stream is still its caller's to have.
        idle: Seconds without a word after which a connection up to 2025-11-25 is ended.
    """
    url = gateway.url or ""
    path = urlsplit(url).path
    inner = _inner(server, gateway, path, idle)

    connections = Connections(inner, gateway.limits.sessions)

    async def described(_: Request) -> Response:
        return JSONResponse(dict(metadata(gateway)), headers=METADATA_HEADERS)

    told = [Route(place, described, methods=["GET"]) for place in metadata_paths(url)] if gateway.issuers else []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with inner.router.lifespan_context(inner), anyio.create_task_group() as group:
            group.start_soon(connections.run, reception.store)
            yield
            group.cancel_scope.cancel()

    pages = [] if console is None or gateway.console_url is None else console_at(urlsplit(gateway.console_url).path, console)
    standing = Told(Standing(authority, reception.store), came)
    door = Door(Received(Paced(UnderWay(connections, leaving), telemetry), reception, path), gateway, standing, look=look)
    doors = [Route(place, door) for place in (path, path + "/{workspace}/{agent}")]
    app = Starlette(routes=[*told, *pages, *doors], lifespan=lifespan)
    return behind(AccessLog(Hosts(app, gateway), gateway, telemetry, tools), gateway.trusted_proxies)


def _inner(server: Server[Line], gateway: Gateway, path: str, idle: float) -> Starlette:
    """The SDK's own, for that path."""
    return server.streamable_http_app(
        streamable_http_path=path,
        max_request_body_size=gateway.limits.body_bytes,
        session_idle_timeout=idle,
        max_sessions=gateway.limits.sessions,
        # Judged at the door, for every path alike.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def console_at(path: str, console: ASGIApp) -> list[BaseRoute]:
    """Below its path; without the slash it is led there, by a path alone: which name a proxy in front was called by is not known here."""

    async def below(_: Request) -> Response:
        return RedirectResponse(f"{path}/", 308)

    return [Route(path, below, methods=["GET"]), Mount(path, app=console)]
