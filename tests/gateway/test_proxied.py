"""The settings of nginx that the page shows: nginx takes them, and what they pass on is what the gateway needs."""

import ssl
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from mcp_server.protocol.http import listen
from tests.bounds import LONG
from tests.gateway.proxied import NGINX, Front, certificate_in, front_in, proxied, settings_of


def test_nginx_finds_nothing_wrong_with_what_the_page_shows(tmp_path: Path) -> None:
    certificate = certificate_in(tmp_path)
    for upstreams in ((7717,), (7717, 7718)):
        file = tmp_path / "nginx.conf"
        file.write_text(settings_of(tmp_path, certificate, port=7719, upstreams=upstreams))
        command = [NGINX, "-t", "-e", str(tmp_path / "errors"), "-p", str(tmp_path), "-c", str(file)]
        tried = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
        assert tried.returncode == 0, tried.stderr
        assert "warn" not in tried.stderr


class Behind:
    """Says what it heard; and streams a line at a time, the next only when told so."""

    def __init__(self) -> None:
        self.go_on = anyio.Event()

    async def headers(self, request: Request) -> Response:
        return JSONResponse({**request.headers, "scheme": request.url.scheme})

    async def stream(self, _: Request) -> Response:
        async def lines() -> AsyncGenerator[bytes]:
            yield b"first\n"
            await self.go_on.wait()
            yield b"second\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/headers", self.headers), Route("/stream", self.stream)])


@pytest.fixture
async def behind() -> AsyncGenerator[tuple[Behind, int]]:
    told = Behind()
    with listen("127.0.0.1", 0) as sock:
        config = uvicorn.Config(told.app(), log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            yield told, int(sock.getsockname()[1])
            running.should_exit = True


@pytest.fixture
async def front(tmp_path: Path, behind: tuple[Behind, int]) -> AsyncGenerator[Front]:
    async with proxied(tmp_path, front_in(tmp_path), behind[1]) as found:
        yield found


def _trusting(front: Front) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(verify=ssl.create_default_context(cafile=str(front.certificate.chain)), base_url=front.origin, timeout=LONG)


async def test_the_host_and_the_client_arrive_as_they_are_and_not_as_the_client_says(front: Front) -> None:
    async with _trusting(front) as wire:
        lies = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "gopher"}
        heard = (await wire.get("/headers", headers=lies)).json()
    assert heard["host"] == front.origin.removeprefix("https://")
    assert (heard["x-forwarded-for"], heard["x-forwarded-proto"]) == ("127.0.0.1", "https")


async def test_a_line_of_a_stream_arrives_before_the_next_is_said(front: Front, behind: tuple[Behind, int]) -> None:
    with anyio.fail_after(LONG):
        async with _trusting(front) as wire, wire.stream("GET", "/stream") as answer:
            lines = answer.aiter_lines()
            assert await anext(lines) == "first"
            behind[0].go_on.set()
            assert await anext(lines) == "second"
