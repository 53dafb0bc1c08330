"""Between the suite and Remit: an HTTP proxy that has each name as the other side knows it, and passes on everything else. See `names`.

    python -m tests.conformance.translating URL

writes its own address on standard output and serves until a signal.
"""

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mcp_server.protocol.http import listen
from tests.conformance.names import header_of, inward, outward

OWN = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "date", "server"})
"""Headers of one connection, not of the message."""


def translator(remit: str, client: httpx2.AsyncClient) -> Starlette:
    """The proxy before Remit's address."""

    async def pass_on(request: Request) -> Response:
        body = await request.body()
        headers = {name: header_of(name, text) for name, text in request.headers.items() if name not in OWN}
        asked = client.build_request(request.method, remit, content=_inward(body), headers=headers)
        answer = await client.send(asked, stream=True)
        back = {name: text for name, text in answer.headers.items() if name not in OWN}
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return StreamingResponse(_events(answer), answer.status_code, back)
        whole = await answer.aread()
        await answer.aclose()
        return Response(_outward(whole), answer.status_code, back)

    return Starlette(routes=[Route("/mcp", pass_on, methods=["GET", "POST", "DELETE"])])


def _inward(body: bytes) -> bytes:
    message = _read(body)
    return body if message is None else json.dumps(inward(message)).encode()


def _outward(body: bytes) -> bytes:
    message = _read(body)
    return body if message is None else json.dumps(outward(message)).encode()


def _read(body: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON


async def _events(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for line in answer.aiter_lines():
            yield (b"data: " + _outward(line[6:].encode()) if line.startswith("data: ") else line.encode()) + b"\n"
    except httpx2.HTTPError:
        return
    finally:
        with anyio.CancelScope(shield=True):
            await answer.aclose()


async def translate(remit: str) -> None:
    """The proxy, until a signal."""
    async with httpx2.AsyncClient(timeout=None, trust_env=False) as client:
        sock = listen("127.0.0.1", 0)
        print(f"http://127.0.0.1:{sock.getsockname()[1]}/mcp", flush=True)  # noqa: T201 - for whoever started it
        config = uvicorn.Config(translator(remit, client), log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve([sock])


if __name__ == "__main__":
    anyio.run(translate, sys.argv[1])
