"""Where the person's browser comes back to after a sign-in: a port of this machine that answers one path and believes one state."""

import os
import secrets
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketListener, SocketStream

from mcp_server.protocol.sign_in.given import Returned

HOST = "127.0.0.1"
PATH = "/callback"

_HEAD_BYTES = 16 * 1024
_HEAD_SECONDS = 10.0
_PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Remit</title><p>{text}</p></html>'


@dataclass(slots=True, kw_only=True)
class Door:
    """A port that is ours."""

    listener: SocketListener
    port: int
    _came: anyio.Event = field(default_factory=anyio.Event)
    _returned: Returned | None = None

    @property
    def address(self) -> str:
        """What the issuer sends the browser to."""
        return f"http://{HOST}:{self.port}{PATH}"

    async def returned(self, state: str) -> Returned:
        """Wait for the browser. Who comes with another state is sent away, and the right one still awaited."""

        async def answer(stream: SocketStream) -> None:
            async with stream:
                with anyio.move_on_after(_HEAD_SECONDS):
                    await self._answer(stream, state)

        async with anyio.create_task_group() as group:
            group.start_soon(self.listener.serve, answer)
            await self._came.wait()
            group.cancel_scope.cancel()
        assert self._returned is not None  # noqa: S101 - set before the event
        return self._returned

    async def _answer(self, stream: SocketStream, state: str) -> None:
        try:
            method, target = await _head(stream)
            came = _read(target, state) if method == "GET" else None
            if came is None:
                await stream.send(_page("400 Bad Request", "This is not the answer to the sign-in that Remit began. Begin it again."))
                return
            text = "You are signed in. You can close this page." if came.code else "The sign-in was refused. You can close this page."
            await stream.send(_page("200 OK", text))
            await stream.send_eof()
        except (anyio.BrokenResourceError, anyio.EndOfStream, OSError, ValueError):
            return
        if self._returned is None:
            self._returned = came
            self._came.set()


async def _head(stream: SocketStream) -> tuple[str, str]:
    """Method and target of one request. Raises ValueError where it is none."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive()
        if len(head) > _HEAD_BYTES:
            raise ValueError("too long")
    method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
    return method, target


def _read(target: str, state: str) -> Returned | None:
    parts = urlsplit(target)
    said = parse_qs(parts.query)
    given = said.get("state", [])
    if parts.path != PATH or len(given) != 1 or not secrets.compare_digest(given[0].encode(), state.encode()):
        return None

    def one(name: str) -> str:
        return said.get(name, [""])[0]

    code, error = one("code"), one("error")
    if not code and not error:
        return None
    return Returned(code="" if error else code, error=error, issuer=said["iss"][0] if "iss" in said else None)


def _page(status: str, text: str) -> bytes:
    body = _PAGE.format(text=text).encode()
    head = (
        f"HTTP/1.1 {status}",
        "content-type: text/html; charset=utf-8",
        f"content-length: {len(body)}",
        "content-security-policy: default-src 'none'",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
        "connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body


@asynccontextmanager
async def door(port: int) -> AsyncGenerator[Door]:
    """A port of this machine, this one or, with 0, a free one.

    Raises:
        OSError: It is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        if os.name == "posix":
            # Elsewhere the option lets a second program listen on the same port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
        sock.listen(8)
        sock.setblocking(False)
        async with await SocketListener.from_socket(sock) as listener:
            yield Door(listener=listener, port=int(sock.getsockname()[1]))
