"""A receiver of webhooks on this machine: takes real requests, checks each as the scheme's own library does, answers as a test says."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketStream
from standardwebhooks import Webhook

from tests.bounds import LONG
from tests.tools.web.site import port_of

BOUND = LONG
"""Seconds within which what a test waits for has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """One request."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def said(self) -> dict[str, Any]:
        return json.loads(self.body)

    def checked(self, secret: str) -> dict[str, Any]:
        """What it says, if the signature is right by the scheme's own library."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass(slots=True)
class Receiver:
    """Where it listens and what came."""

    port: int
    got: list[Got] = field(default_factory=list[Got])
    news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?key=in-the-query"

    async def until(self, enough: Callable[[list[Got]], bool]) -> None:
        """Wait for what comes."""
        with anyio.fail_after(BOUND):
            while not enough(self.got):
                await self.news.wait()

    async def gets(self, count: int) -> list[Got]:
        await self.until(lambda got: len(got) >= count)
        return self.got

    async def hears_of(self, *ids: str) -> list[Got]:
        """Wait until each of these events has come at least once."""
        await self.until(lambda got: set(ids) <= {one.id for one in got})
        return self.got


STALL = "stall"
DROP = "drop"


@asynccontextmanager
async def receiving(*answers: str) -> AsyncGenerator[Receiver]:
    """Answers each request with the next of `answers`, `200 OK` once they are used up: a status line and further header lines, `STALL`
    (says nothing), or `DROP` (hangs up).
    """
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    receiver = Receiver(port=port_of(listener))
    left = list(answers)

    async def handle(stream: SocketStream) -> None:
        async with stream:
            got = await _request(stream)
            if got is None:
                return
            answer = left.pop(0) if left else "200 OK"
            receiver.got.append(got)
            receiver.news.set()
            receiver.news = anyio.Event()
            try:
                if answer == STALL:
                    await anyio.sleep_forever()
                elif answer != DROP:
                    await stream.send(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n".encode())
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, handle)
            yield receiver
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await listener.aclose()


async def _request(stream: SocketStream) -> Got | None:
    received = b""
    try:
        while b"\r\n\r\n" not in received:
            received += await stream.receive()
        head, _, body = received.partition(b"\r\n\r\n")
        line, *rest = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
        while len(body) < int(headers["content-length"]):
            body += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return None
    return Got(line=line, headers=headers, body=body)
