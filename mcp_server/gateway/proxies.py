"""A gateway behind proxies that end TLS: what they say of a client is believed, and nobody but them is served."""

import ipaddress
from collections.abc import Sequence

import structlog
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.gateway.seen import client_of

log = structlog.get_logger("gateway")

REFUSED = "This is served through its proxy alone."


class _Proxied:
    """Turns away whoever comes by no proxy: a token that they sent would have travelled in the clear. Those who ask whether the process
    lives are answered before they come here.
    """

    def __init__(self, app: ASGIApp, networks: Sequence[str]) -> None:
        self._app = app
        self._networks = tuple(ipaddress.ip_network(one) for one in networks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http" and not self._is_proxy(scope):
            log.warning("turned away", reason="it came by no proxy", client=client_of(scope))
            await PlainTextResponse(REFUSED, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_proxy(self, scope: Scope) -> bool:
        try:
            address = ipaddress.ip_address(client_of(scope))
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)


def behind(app: ASGIApp, networks: Sequence[str]) -> ASGIApp:
    """The application behind proxies in these networks; none: as it is, and no header of a proxy's is believed."""
    if not networks:
        return app
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: PLC0415 - a server over stdio needs none of it

    return _Proxied(ProxyHeadersMiddleware(app, list(networks)), networks)  # pyright: ignore[reportArgumentType] - uvicorn's own types of ASGI
