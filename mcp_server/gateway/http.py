"""Serving a gateway, from its keys to its end."""

import socket
import time
from collections.abc import Awaitable, Callable

from anyio import to_thread
from mcp.server.lowlevel.server import Server

from mcp_server.gateway.application import gateway_app
from mcp_server.gateway.authority import Authority
from mcp_server.gateway.coming_in import console_of
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.jose import prepare
from mcp_server.gateway.keys import KeyHolders
from mcp_server.gateway.leaving import Leaving
from mcp_server.gateway.lending import Lent
from mcp_server.gateway.looked_after import looked_after
from mcp_server.protocol.http import serve_app
from mcp_server.protocol.lines import Line
from mcp_server.settings.gateway import Gateway


async def serve_gateway(
    server: Server[Line],
    gateway: Gateway,
    sock: socket.socket,
    lent: Lent,
    *,
    on_end: Callable[[], Awaitable[None]],
    on_ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM, and then to the end of what is under way, for a while; a second signal ends at once. As `serve_http`;
    `on_ready` is told the address that clients are given.
    """
    await to_thread.run_sync(prepare)
    fetcher, leaving = Fetcher(), Leaving(gateway.limits.drain_seconds)
    try:
        keys = KeyHolders(lent.store, time.time, gateway.scopes.required)
        authority = Authority(gateway, fetcher, keys, steady=time.monotonic, clock=time.time)
        received, pages = lent.reception, lent.pages
        console = None
        if pages is not None:
            now, rules = received.gateway, received.rulebook
            console = console_of(gateway, pages, authority, keys, fetcher, rules, settled=now, home=lent.home, rooms=lent.rooms)
        app = gateway_app(
            server,
            gateway,
            authority,
            received,
            leaving=leaving,
            telemetry=lent.telemetry,
            tools=lent.tools,
            console=console,
            came=lent.came,
        )
        async with looked_after(gateway, app, authority.issuers, leaving, lent) as serving:
            await serve_app(serving, sock, on_end=on_end, on_ready=lambda: on_ready(gateway.url or ""))
    finally:
        await fetcher.close()
