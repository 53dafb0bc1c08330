"""On which addresses a gateway may listen, and how slow its clients may be."""

import socket
import ssl
from typing import Any

from starlette.types import ASGIApp

from mcp_server.errors import ConfigError, Fault
from mcp_server.gateway.patience import patient
from mcp_server.protocol.http import DRAIN_SECONDS, listen_at
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.loopback import numbers_of


def listen_for(gateway: Gateway, host: str, port: int) -> socket.socket:
    """A listening socket. Tokens do not travel in the clear: off loopback there is TLS, here or at a proxy that settings name.

    Raises:
        ConfigError: There is neither, or the address cannot be listened on.
    """
    address = numbers_of(host)
    if address is None:
        problem = f"{host!r} is not an address"
        raise ConfigError((Fault(file="--http", line=None, problem=problem, remedy="write a number: 127.0.0.1:PORT, 0.0.0.0:PORT"),))
    if not address.is_loopback and gateway.tls is None and not gateway.trusted_proxies:
        problem = f"on {address} tokens would travel in the clear"
        remedy = "set `gateway.tls`, or `gateway.trusted_proxies` where a proxy in front ends TLS; or use 127.0.0.1:PORT"
        raise ConfigError((Fault(file="--http", line=None, problem=problem, remedy=remedy),))
    return listen_at(address, port)


def config_of(gateway: Gateway, app: ASGIApp, secured: ssl.SSLContext | None) -> Any:
    """uvicorn's, for that application. `secured`: by what connections are, None: in the clear."""
    import uvicorn  # noqa: PLC0415 - heavy, and stdio needs none of it

    return uvicorn.Config(
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
        ssl_context_factory=None if secured is None else lambda _config, _usual: secured,
    )
