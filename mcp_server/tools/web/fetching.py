"""One GET or POST, bounded in size and time, to the addresses that were checked and no others. No redirect is followed here.

The HTTP client is loaded by the first call.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from mcp_server.errors import ToolFailure
from mcp_server.tools.web.hosts import addresses_of, refuse_local_name
from mcp_server.tools.web.urls import PORTS, Url
from mcp_server.tools.web.wires import Wires

if TYPE_CHECKING:
    from httpcore2 import SOCKET_OPTION, AsyncConnectionPool, AsyncNetworkBackend, AsyncNetworkStream

LARGEST = 5 * 1024 * 1024
"""Bytes of one answer."""

AGENT = "remit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, beside its address."""

    method: str = "GET"
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """Names in small letters; of one that comes twice, the last."""
    body: bytes


class Pinned:
    """Connects to the checked addresses whatever name it is given, so that a second look-up cannot lead elsewhere.

    As httpcore2's `AsyncNetworkBackend`, of which it needs these two.
    """

    def __init__(self, addresses: Sequence[str], network: "AsyncNetworkBackend") -> None:
        self._addresses = addresses
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the client library's own signature
        local_address: str | None = None,
        socket_options: "Iterable[SOCKET_OPTION] | None" = None,
    ) -> "AsyncNetworkStream":
        """The first that answers."""
        from httpcore2 import ConnectError, ConnectTimeout  # noqa: PLC0415 - see `_exchange`

        failure: Exception = ConnectError(f"no address for {host}")
        for address in self._addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (ConnectError, ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Between two tries."""
        await self._network.sleep(seconds)


async def fetch_public(url: Url, headers: Mapping[str, str], wires: Wires) -> Reply:
    """Get what a public server, or one that the settings open, has there. Raises what `ask_public` raises."""
    return await ask_public(url, Asked(headers=headers), wires)


async def ask_public(url: Url, asked: Asked, wires: Wires) -> Reply:
    """Ask a public server, or one that the settings open.

    Raises:
        ToolFailure: It may not be reached, cannot be, or has too much to say.
    """
    private = wires.private_hosts()
    try:
        addresses = await addresses_of(url, private, wires.resolver)
    except OSError as error:
        if wires.proxies.proxy_for(url) is None:
            raise ToolFailure(f"the name {url.host} could not be looked up: {error.strerror or error}") from None
        refuse_local_name(url, private)
        addresses = ()
    return await _exchange(url, asked, wires, addresses)


async def ask_configured(url: Url, headers: Mapping[str, str], wires: Wires) -> Reply:
    """Get what there is at an address that a person's own settings name: it may be anywhere.

    Raises:
        ToolFailure: It cannot be reached, or has too much to say.
    """
    return await _exchange(url, Asked(headers=headers), wires, None)


async def _exchange(url: Url, asked: Asked, wires: Wires, addresses: Sequence[str] | None) -> Reply:
    import httpcore2  # noqa: PLC0415 - 90 ms of every start, for a call that many sessions never make

    sent = {"Host": url.authority, "User-Agent": AGENT, "Accept-Encoding": "identity", "Connection": "close", **asked.headers}
    port = None if url.port == PORTS[url.scheme] else url.port
    target = httpcore2.URL(scheme=url.scheme, host=url.host, port=port, target=url.target)
    try:
        async with (
            pool_for(url, wires, addresses) as pool,
            pool.stream(asked.method, target, headers=list(sent.items()), content=asked.body) as response,
        ):
            told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            _refuse_large(url, told)
            body = bytearray()
            async for chunk in response.aiter_stream():
                body += chunk
                if len(body) > LARGEST:
                    raise _too_large(url)
    except (httpcore2.ConnectError, httpcore2.ProxyError) as error:
        raise ToolFailure(f"{url.authority} could not be reached: {_first_line(error)}") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        raise ToolFailure(f"{url.authority} did not answer as a web server does: {_first_line(error)}") from error
    return Reply(status=response.status, headers=told, body=_decoded(bytes(body), told.get("content-encoding", ""), url))


def pool_for(url: Url, wires: Wires, addresses: Sequence[str] | None) -> "AsyncConnectionPool":
    """One connection's worth: through the proxy where there is one, else to `addresses`; None: wherever the name leads."""
    from httpcore2 import AnyIOBackend, AsyncConnectionPool, AsyncHTTPProxy  # noqa: PLC0415 - see `_exchange`

    network = wires.network or AnyIOBackend()
    proxy = wires.proxies.proxy_for(url)
    if proxy is None:
        pinned = network if addresses is None else cast("AsyncNetworkBackend", Pinned(addresses, network))
        return AsyncConnectionPool(wires.tls, network_backend=pinned)
    address, login = _proxy(proxy)
    return AsyncHTTPProxy(address, proxy_auth=login, ssl_context=wires.tls, network_backend=network)


def _proxy(written: str) -> tuple[str, tuple[str, str] | None]:
    """Its address, and who to be there."""
    try:
        parts = urlsplit(written if "://" in written else f"http://{written}")
        usual = PORTS[parts.scheme]
        port = parts.port or usual
    except (ValueError, KeyError):
        raise ToolFailure("the proxy that the environment names is no http or https address; a person must set it right") from None
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return f"{parts.scheme}://{host}:{port}", login


def _refuse_large(url: Url, headers: Mapping[str, str]) -> None:
    length = headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and int(length[:20]) > LARGEST:
        raise ToolFailure(f"{url.text} has {int(length[:20]):,} bytes; at most {LARGEST:,} are fetched, so it was left")


def _too_large(url: Url) -> ToolFailure:
    return ToolFailure(f"{url.text} has more than {LARGEST:,} bytes; the rest was not fetched, and nothing is shown")


def _decoded(body: bytes, encoding: str, url: Url) -> bytes:
    """The body of a server that compresses though it was asked not to, as long as it stays small."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip" | "deflate":
            unpacked = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            try:
                plain = unpacked.decompress(body, LARGEST + 1)
            except zlib.error as error:
                raise ToolFailure(f"what {url.authority} sent could not be unpacked: {error}") from None
            if len(plain) > LARGEST:
                raise _too_large(url)
            if not unpacked.eof:
                raise ToolFailure(f"what {url.authority} sent could not be unpacked: its end is missing")
            return plain
        case other:
            raise ToolFailure(f"{url.authority} sent its answer packed as `{other[:40]}`, which was not asked for")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
