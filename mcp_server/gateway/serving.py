"""The console's socket and its server, until a signal ends them."""

import socket
from contextlib import nullcontext

import uvicorn

from mcp_server.errors import ConfigError, Fault
from mcp_server.gateway.beside import beside, served
from mcp_server.gateway.console import HOST, Console, console_app
from mcp_server.protocol.signals import signals_held

DRAIN_SECONDS = 1
"""For requests under way when the console ends; a page's stream never ends by itself."""


def listen(port: int) -> socket.socket:
    """A listening socket on loopback. Port 0 takes a free one.

    Raises:
        ConfigError: The port is taken.
    """
    try:
        return socket.create_server((HOST, port), backlog=64)
    except OSError as error:
        fault = Fault(file="--port", line=None, problem=f"cannot listen on {HOST}:{port}: {error.strerror}", remedy="take another port")
        raise ConfigError((fault,)) from error


async def serve_console(console: Console, sock: socket.socket, *, alone: bool = True) -> None:
    """Serve until SIGINT or SIGTERM; not `alone`: until cancelled. `sock`: from `listen`; closed at the end."""
    port = int(sock.getsockname()[1])
    config = uvicorn.Config(
        console_app(console, port=port),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server: uvicorn.Server = uvicorn.Server(config) if alone else beside(config)
    with sock, signals_held() if alone else nullcontext():
        await served(server, sock)
