"""On which addresses a gateway may listen."""

import socket

from mcp_server.errors import ConfigError, Fault
from mcp_server.protocol.http import address_of, listen_at
from mcp_server.settings.gateway import Gateway


def listen_for(gateway: Gateway, host: str, port: int) -> socket.socket:
    """A listening socket. Tokens do not travel in the clear: off loopback there is TLS, here or at a proxy that settings name.

    Raises:
        ConfigError: There is neither, or the address cannot be listened on.
    """
    address = address_of(host)
    if address is None:
        problem = f"{host!r} is not an address"
        raise ConfigError((Fault(file="--http", line=None, problem=problem, remedy="write a number: 127.0.0.1:PORT, 0.0.0.0:PORT"),))
    if not address.is_loopback and gateway.tls is None and not gateway.trusted_proxies:
        problem = f"on {address} tokens would travel in the clear"
        remedy = "set `gateway.tls`, or `gateway.trusted_proxies` where a proxy in front ends TLS; or use 127.0.0.1:PORT"
        raise ConfigError((Fault(file="--http", line=None, problem=problem, remedy=remedy),))
    return listen_at(address, port)
