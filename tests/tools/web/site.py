"""A small web server on this machine that says what a test tells it to, and a network that leads every address to it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpcore2
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.stapled import MultiListener
from httpcore2 import SOCKET_OPTION, AnyIOBackend, AsyncNetworkBackend, AsyncNetworkStream

Answer = Callable[[SocketStream, bytes], Awaitable[None]]
"""Gets the connection and the request's head."""


@dataclass(slots=True)
class Site:
    """Where it listens, and what it was asked."""

    port: int
    asked: list[bytes] = field(default_factory=list[bytes])
    """The heads of requests, in their order."""

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def serving(answer: Answer) -> AsyncGenerator[Site]:
    """A server for as long as the block lasts."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    site = Site(port=port_of(listener))

    async def handle(stream: SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                try:
                    head += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return
            site.asked.append(head)
            try:
                await answer(stream, head)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the client had enough

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, handle)
            yield site
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await listener.aclose()


def port_of(listener: MultiListener[SocketStream]) -> int:
    """Where it listens."""
    return listener.extra(SocketAttribute.local_port)  # noqa: S610 - anyio's typed attributes, no database


def reply(body: bytes, kind: str = "text/plain", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def says(*answers: bytes) -> Answer:
    """The answers in their order, the last for ever."""
    left = list(answers)

    async def answer(stream: SocketStream, _head: bytes) -> None:
        await stream.send(left.pop(0) if len(left) > 1 else left[0])

    return answer


class Everywhere(AsyncNetworkBackend):
    """A network where every address is the site; keeps which were dialled."""

    def __init__(self, site: Site, dead: Iterable[str] = ()) -> None:
        self.dialled: list[tuple[str, int]] = []
        self._site = site
        self._dead = frozenset(dead)
        self._network = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the client library's own signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        self.dialled.append((host, port))
        if host in self._dead:
            raise httpcore2.ConnectError("nobody there")
        return await self._network.connect_tcp("127.0.0.1", self._site.port)


class Names:
    """A resolver that gives one answer after another, the last for ever; keeps what it was asked."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked: list[tuple[str, int]] = []
        self._answers = list(answers)

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        if not self._answers:
            raise OSError(-2, "Name or service not known")
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
