"""Serving a gateway: on which addresses it may listen, how slow its clients may be, and its end."""

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
from mcp_server.gateway.patience import patient
from mcp_server.gateway.reception import Reception
from mcp_server.protocol.http import DRAIN_SECONDS, serve_app
from mcp_server.protocol.lines import Line
from mcp_server.settings.gateway import Gateway
from mcp_server.store.protocol import Store


async def serve_gateway(
    server: Server[Line],
    gateway: Gateway,
    sock: socket.socket,
    *,
    store: Store,
    reception: Reception,
    pages: Store | None,
    home: str,
    on_end: Callable[[], Awaitable[None]],
    on_ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM. As `serve_http`; `on_ready` is told the address that clients are given.

    Args:
        server: What answers.
        gateway: The settings.
        sock: From `listen_for`.
        reception: Says who calls, where, and as what.
        store: The server's own.
        pages: A handle of its own for the console: what another handle commits is what wakes the server's runs. None: no console.
        home: What `$HOME` stands for in lines of shell on its pages.
        on_end: As `serve_http`.
        on_ready: Likewise.
    """
    import uvicorn  # noqa: PLC0415 - heavy, and stdio needs none of it

    await to_thread.run_sync(prepare)
    fetcher = Fetcher()
    try:
        keys = KeyHolders(store, time.time, gateway.scopes.required)
        authority = Authority(gateway, fetcher, keys, steady=time.monotonic, clock=time.time)
        console = None if pages is None else console_of(gateway, pages, authority, keys, fetcher, reception.rulebook, home=home)
        app = gateway_app(server, gateway, authority, reception, console=console)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            http=patient(gateway.limits.request_seconds),
            h11_max_incomplete_event_size=gateway.limits.header_bytes,
            limit_concurrency=gateway.limits.connections,
            proxy_headers=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            ssl_certfile=None if gateway.tls is None else gateway.tls.certificate,
            ssl_keyfile=None if gateway.tls is None else gateway.tls.private_key,
        )
        await serve_app(uvicorn.Server(config), sock, on_end=on_end, on_ready=lambda: on_ready(gateway.url or ""))
    finally:
        await fetcher.close()
