"""A server that speaks OpenAI's chat completions over real HTTP, its answers laid down beforehand. Keeps what it was sent."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def text_answer(text: str, *, finish_reason: str = "stop") -> Response:
    return _completion({"role": "assistant", "content": text}, finish_reason)


def calls_answer(*calls: tuple[str, str, str], text: str | None = None) -> Response:
    """Each call is (id, tool, arguments as the model wrote them)."""
    made = [{"id": id, "type": "function", "function": {"name": tool, "arguments": raw}} for id, tool, raw in calls]
    return _completion({"role": "assistant", "content": text, "tool_calls": made}, "tool_calls")


def error_answer(status: int, message: str, *, code: str | None = None, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": message, "type": "error", "code": code}}, status_code=status, headers=headers)


def _completion(message: dict[str, Any], finish_reason: str) -> Response:
    return JSONResponse(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": "small",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
    )


@dataclass(slots=True, kw_only=True)
class OpenAIServer:
    """One server, running."""

    base_url: str = ""
    answers: list[Response] = field(default_factory=list[Response])
    """Given in order, one a request."""
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    asked: anyio.Event = field(default_factory=anyio.Event)
    silent: bool = False
    """Take requests and never answer."""
    stopped: anyio.Event = field(default_factory=anyio.Event)

    async def complete(self, request: Request) -> Response:
        self.bodies.append(json.loads(await request.body()))
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.asked.set()
        if self.silent:
            await self.stopped.wait()
        return self.answers.pop(0) if self.answers else error_answer(418, "no answer was laid down for this request")


@asynccontextmanager
async def openai_server(*answers: Response) -> AsyncGenerator[OpenAIServer]:
    """A server on a free port of this machine, until the block is left."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # whoever comes before the server runs is kept waiting, not turned away
        server = OpenAIServer(answers=list(answers), base_url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        app = Starlette(routes=[Route("/v1/chat/completions", server.complete, methods=["POST"])])
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [listening])
            try:
                yield server
            finally:
                server.stopped.set()
                running.should_exit = True
