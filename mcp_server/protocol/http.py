"""Serving many clients over Streamable HTTP, both eras at once. Without a gateway nobody says who they are: loopback only."""

import os
import socket
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio
import structlog
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from mcp_server.errors import ConfigError, Fault
from mcp_server.protocol.lines import Line
from mcp_server.protocol.signals import signals_held
from mcp_server.settings.loopback import Numbers, numbers_of

log = structlog.get_logger("protocol")

PATH = "/mcp"
_BODY_BYTES = 4 * 1024 * 1024
"""Of one request: a `write` of a large source file fits, a flood does not."""
_CONNECTIONS = 200
"""2025-11-25 connections at once. One machine's hosts open a handful."""
_IDLE_SECONDS = 3600.0
"""A 2025-11-25 connection without any request or stream for so long is ended, and its root with it: its client has most likely
died without a word. A living one gets a new connection."""
DRAIN_SECONDS = 2
"""For requests under way when the server ends; the calls behind them are stored anyway."""
_ENDING_SECONDS = 3.0


def http_app(server: Server[Line], *, port: int) -> Starlette:
    """The ASGI application, for a loopback address and this port. Other hosts and origins are turned away: a web page in the
    person's browser reaches loopback too.
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    return server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_BODY_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_CONNECTIONS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in names],
            allowed_origins=[f"http://{name}:{port}" for name in names],
        ),
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on a loopback address. Port 0 takes a free one.

    Raises:
        ConfigError: The address is not loopback, or is taken.
    """
    address = numbers_of(host)
    if address is None or not address.is_loopback:
        problem = f"{host!r} is not a loopback address, and nobody would be asked who they are"
        remedy = "use 127.0.0.1:PORT, or set up a gateway in the managed settings"
        raise ConfigError((Fault(file="--http", line=None, problem=problem, remedy=remedy),))
    return listen_at(address, port)


def listen_at(address: Numbers, port: int, *, named: str = "--http") -> socket.socket:
    """A listening socket, wherever that is. `named`: where somebody wrote the address. Raises `ConfigError` as `listen`."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # The protocol is named: only then does the event loop send what is small at once. Otherwise the end of each stream waits for the
    # client's word that it has what came before, 40 ms on Linux.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # Elsewhere the option lets a second program listen on the same port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((str(address), port))
        sock.listen(128)
    except OSError as error:
        sock.close()
        fault = Fault(file=named, line=None, problem=f"cannot listen on {address}:{port}: {error.strerror}", remedy="take another port")
        raise ConfigError((fault,)) from error
    return sock


async def serve_http(
    server: Server[Line], sock: socket.socket, *, on_end: Callable[[], Awaitable[None]], on_ready: Callable[[str], None]
) -> None:
    """Serve on loopback until SIGINT or SIGTERM.

    Args:
        server: From `build_server`.
        sock: From `listen`; closed at the end.
        on_end: Takes no new call, stores what there is, ends tools' processes. Cut off after 3 s.
        on_ready: Told the URL.
    """
    import uvicorn  # noqa: PLC0415 - heavy, and stdio needs none of it

    port = int(sock.getsockname()[1])
    host = str(sock.getsockname()[0])
    config = uvicorn.Config(
        http_app(server, port=port),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
    await serve_app(uvicorn.Server(config), sock, on_end=on_end, on_ready=lambda: on_ready(url))


class Serves(Protocol):
    """uvicorn's server, whatever it serves."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Until a signal."""
        ...


async def serve_app(serving: Serves, sock: socket.socket, *, on_end: Callable[[], Awaitable[None]], on_ready: Callable[[], None]) -> None:
    """Serve on a socket until a signal, and end in order. As `serve_http`."""
    try:
        with sock, signals_held():
            on_ready()
            await serving.serve(sockets=[sock])
    finally:
        with anyio.move_on_after(_ENDING_SECONDS, shield=True) as scope:
            await on_end()
        if scope.cancelled_caught:
            log.warning("ending took too long; what was not stored is taken up again by the next server")
