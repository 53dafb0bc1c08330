"""A server of any provider's wire format over real HTTP, its answers laid down beforehand. Keeps what it was sent."""

import json
import socket
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route


@dataclass(slots=True, kw_only=True)
class WireServer:
    """One server, running."""

    address: str
    answers: list[Response]
    """Given in order, one a request, whatever its path."""
    paths: list[str] = field(default_factory=list[str])
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def answer(self, request: Request) -> Response:
        self.paths.append(request.url.path)
        self.bodies.append(json.loads(await request.body()))
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return self.answers.pop(0) if self.answers else Response("no answer was laid down for this request", status_code=418)


@asynccontextmanager
async def wire_server(*answers: Response) -> AsyncGenerator[WireServer]:
    """A server on a free port of this machine, until the block is left."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # whoever comes before the server runs is kept waiting, not turned away
        server = WireServer(answers=list(answers), address=f"http://127.0.0.1:{listening.getsockname()[1]}")
        app = Starlette(routes=[Route("/{path:path}", server.answer, methods=["POST"])])
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [listening])
            try:
                yield server
            finally:
                running.should_exit = True


def events(items: Iterable[dict[str, Any]], *, named: bool = False, end: str = "") -> Response:
    """Server-sent events. `named`: each under its `type`; `end`: a last line of data that is no JSON."""
    lines = [(f"event: {item['type']}\n" if named else "") + f"data: {json.dumps(item)}\n\n" for item in items]
    if end:
        lines.append(f"data: {end}\n\n")

    async def sent() -> AsyncGenerator[str]:
        for line in lines:
            yield line

    return StreamingResponse(sent(), media_type="text/event-stream")


async def body_of(response: Response) -> bytes:
    """All that a streamed response would send."""
    assert isinstance(response, StreamingResponse)
    pieces = [bytes(piece) if isinstance(piece, bytes | memoryview) else piece.encode() async for piece in response.body_iterator]
    return b"".join(pieces)
