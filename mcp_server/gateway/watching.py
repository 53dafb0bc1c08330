"""Serving the address for those who watch a gateway, where settings name one."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from anyio.abc import TaskGroup

from mcp_server.gateway.beside import serve_beside
from mcp_server.gateway.health import Readiness, watching_app
from mcp_server.protocol.http import listen_at
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.loopback import numbers_of
from mcp_server.telemetry.base import Scrape

log = structlog.get_logger("gateway")


@asynccontextmanager
async def watched(gateway: Gateway, readiness: Readiness, scrape: Scrape | None, group: TaskGroup) -> AsyncGenerator[None]:
    """The address for those who watch, where settings name one."""
    if gateway.metrics is None or scrape is None:
        yield
        return
    host, port = gateway.metrics.place
    address = numbers_of(host)
    if address is None:
        raise ValueError(host)  # the schema has looked
    sock = listen_at(address, port, named="gateway.metrics.listen")
    log.info("told at an address of their own: health, readiness and numbers", port=sock.getsockname()[1])
    group.start_soon(serve_beside, watching_app(readiness, scrape), sock)
    yield
