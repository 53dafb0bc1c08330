"""The way to the issuers that a server names: to public addresses, and to the hosts that settings name for it. What a server says of itself
must not lead Remit to where only Remit can reach.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import anyio
import httpx2

from mcp_server.errors import ToolFailure
from mcp_server.protocol.sign_in.given import NotGiven, Send
from mcp_server.tools.web.fetching import Asked, ask_public
from mcp_server.tools.web.hosts import PrivateHost, read_private_host
from mcp_server.tools.web.urls import read_url
from mcp_server.tools.web.wires import Wires

_SECONDS = 20.0
"""For one request to an issuer."""

_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "user-agent"})
"""Headers that are said by whoever connects."""

_PACKING = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers of an answer that no longer hold once it is unpacked."""


def guarded_way(wires: Wires, *addresses: str | None) -> Callable[[], AbstractAsyncContextManager[Send]]:
    """A way that leads to public hosts, to those that `wires` open, and to the hosts of these addresses, which the settings name."""
    own = tuple(_host_of(address) for address in addresses if address is not None)

    def hosts() -> Sequence[PrivateHost]:
        return (*wires.private_hosts(), *own)

    return partial(_opened, replace(wires, private_hosts=hosts))


@asynccontextmanager
async def _opened(wires: Wires) -> AsyncGenerator[Send]:
    yield partial(_sent, wires)


async def _sent(wires: Wires, request: httpx2.Request) -> httpx2.Response:
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
    try:
        with anyio.fail_after(_SECONDS):
            body = await request.aread()
            reply = await ask_public(read_url(str(request.url)), Asked(method=request.method, headers=headers, body=body), wires)
    except TimeoutError:
        raise NotGiven(f"{request.url.host} did not answer within {_SECONDS:g} s") from None
    except ToolFailure as failure:
        raise NotGiven(str(failure)) from None
    plain = {name: value for name, value in reply.headers.items() if name not in _PACKING}
    return httpx2.Response(reply.status, headers=plain, content=reply.body, request=request)


def _host_of(address: str) -> PrivateHost:
    host = urlsplit(address).hostname or ""
    return read_private_host(f"[{host}]" if ":" in host else host)
