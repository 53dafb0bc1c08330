"""How a server at an address is reached: its headers, which go there and nowhere else, and bounds on what comes back."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import cast

import httpx2
from mcp.client._transport import TransportStreams  # no public name has it
from mcp.client.streamable_http import streamable_http_client

from mcp_server.protocol.upstream.expanding import NotSet, expanded
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.foreign import Whose

LARGEST = 16 * 1024 * 1024
"""Bytes of one answer that comes whole, and of one event of a stream."""

CONNECT_SECONDS = 10.0
"""To connect, and to send a request: within the handshake of any server."""

Told = Callable[[int], None]
"""Told the status of each answer."""


Known = Callable[[], Awaitable[httpx2.Auth | None]]
"""Makes somebody known there; None: nothing of theirs does."""


@asynccontextmanager
async def reached(
    config: Upstream,
    whose: Whose,
    environment: Mapping[str, str],
    told: Told,
    known: Known,
    sent: Callable[[str], None],
    through: httpx2.AsyncBaseTransport | None = None,
) -> AsyncGenerator[TransportStreams]:
    """Speak with it. `sent`: told each token that it is sent. `through`: another way to it than the network, for tests.

    Raises:
        NotSet: What a header must hold is not there, or whoever it is for has no token for it.
        httpx2.HTTPError: It cannot be reached.
    """
    # Packed answers could hold more than any bound on what comes over the wire.
    headers = {"accept-encoding": "identity"}
    headers |= {name: _fit(name, expanded(text, environment, whose.workspace)) for name, text in config.headers.items()}
    # A stream is silent for as long as a person thinks about what the server asks them; a call keeps its own time.
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=None, pool=None)
    way = _Bounded(through or httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=None)), told, sent)
    auth = await known()
    async with (
        httpx2.AsyncClient(transport=way, headers=headers, timeout=timeout, trust_env=False, auth=auth) as client,
        streamable_http_client(config.url or "", http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield streams


def _fit(name: str, value: str) -> str:
    """What a header can hold. Told by its name alone: the value may be a secret."""
    value = value.strip()
    if not value.isascii() or not value.isprintable():
        raise NotSet(f"the header {name} would hold what no header may: a line break, or characters that are not ASCII")
    return value


class _Bounded(httpx2.AsyncBaseTransport):
    """Tells of each answer, and ends one that comes whole and is too large."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, told: Told, sent: Callable[[str], None]) -> None:
        self._inner = inner
        self._told = told
        self._sent = sent

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._sent(request.headers.get("authorization", "").rpartition(" ")[2])
        response = await self._inner.handle_async_request(request)
        self._told(response.status_code)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("a packed answer, which was not asked for", request=request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Counted(cast("httpx2.AsyncByteStream", response.stream), request)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for part in self._inner:
            taken += len(part)
            if taken > LARGEST:
                raise httpx2.ReadError(f"an answer of more than {LARGEST:,} bytes", request=self._request)
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
