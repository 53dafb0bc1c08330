"""A client that does not come to the end of what it says is hung up on; one that does is served, also more than once."""

from collections.abc import AsyncGenerator

import anyio
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from mcp_server.gateway.patience import patient
from mcp_server.protocol.http import listen
from tests.bounds import LONG


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    with listen("127.0.0.1", 0) as sock:
        config = uvicorn.Config(
            PlainTextResponse("served"),
            http=patient(1.0),
            log_config=None,
            access_log=False,
            ws="none",
            lifespan="off",
            timeout_keep_alive=60,
        )
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            yield int(sock.getsockname()[1])
            running.should_exit = True


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nhost: x\r\n"], ids=["nothing", "half a head"])
async def test_a_head_that_never_ends_is_hung_up_on(port: int, said: bytes) -> None:
    with anyio.fail_after(LONG):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            if said:
                await stream.send(said)
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await stream.receive()


async def test_a_head_that_never_ends_is_hung_up_on_after_an_answer_too(port: int) -> None:
    with anyio.fail_after(LONG):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            for _ in range(2):
                await stream.send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                heard = b""
                while b"served" not in heard:
                    heard += await stream.receive()
            await stream.send(b"GET / HTTP/1.1\r\n")
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await stream.receive()
