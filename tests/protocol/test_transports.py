"""Standard input and output, HTTP on loopback, and the key in the state folder."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import Process

from mcp_server.errors import ConfigError
from mcp_server.protocol.http import listen
from mcp_server.protocol.state_key import request_state_key
from tests.bounds import LONG
from tests.cradle.commands import module
from tests.protocol.connect import ROOT, served_http
from tests.protocol.scripted_front import scripted_front
from tests.protocol.scripted_server import scripted_server
from tests.protocol.scripts import tools

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}
ACCEPTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
NEVER = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "task", "arguments": {"scene": "never"}}}


async def started(*words: str) -> Process:
    return await anyio.open_process(module("tests.protocol.scripted_server", "30", "0", *words), cwd=ROOT, stderr=subprocess.PIPE)


async def say(process: Process, *messages: object) -> None:
    assert process.stdin is not None
    for message in messages:
        await process.stdin.send(json.dumps(message).encode() + b"\n")


async def until_out(process: Process, text: bytes) -> bytes:
    assert process.stdout is not None
    heard = b""
    while text not in heard:
        heard += await process.stdout.receive()
    return heard


async def all_of(process: Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    out = b"".join([chunk async for chunk in process.stdout])
    err = b"".join([chunk async for chunk in process.stderr])
    await process.wait()
    return out, err


async def test_at_end_of_file_calls_are_left_the_root_is_left_and_the_process_is_gone() -> None:
    """Within five seconds, by its own bounds. Here only that it waits for nothing: its call never ends, and its client holds the line."""
    with anyio.fail_after(2 * LONG):
        async with await started() as process:
            await say(process, INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, NEVER)
            await until_out(process, b'"id":1')
            assert process.stdin is not None
            with anyio.fail_after(LONG):
                await process.stdin.aclose()
                out, err = await all_of(process)
    assert process.returncode == 0
    assert b"ended; roots left: 1" in err
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
async def test_a_signal_ends_it_in_order_though_the_client_holds_the_line() -> None:
    with anyio.fail_after(LONG):
        async with await started() as process:
            await say(process, INITIALIZE)
            await until_out(process, b'"id":1')
            with anyio.fail_after(LONG):
                process.send_signal(signal.SIGTERM)
                _, err = await all_of(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"ended; roots left:" in err


async def test_garbage_on_the_line_does_not_end_the_connection() -> None:
    with anyio.fail_after(LONG):
        async with await started() as process:
            assert process.stdin is not None
            await process.stdin.send(b'{"jsonrpc": \xff\xfe nonsense\n\x00\n[1,2,3]\n')
            await say(process, INITIALIZE)
            await until_out(process, b'"id":1')
            await process.stdin.aclose()
            await all_of(process)
    assert process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_over_http_a_signal_ends_it_in_order_with_a_call_under_way(number: signal.Signals) -> None:
    with anyio.fail_after(LONG):
        async with await started("http") as process:
            assert process.stderr is not None
            heard = err = b""
            while b"/mcp\n" not in heard:
                heard += await process.stderr.receive()
            url = heard.decode().split("ready: ")[1].split()[0]
            async with httpx2.AsyncClient(headers=ACCEPTED, timeout=LONG) as http:
                session = (await http.post(url, json=INITIALIZE)).headers["mcp-session-id"]
                # Its answer is a stream, which begins as the call does.
                async with http.stream("POST", url, json=NEVER, headers={"mcp-session-id": session}):
                    with anyio.fail_after(LONG):
                        process.send_signal(number)
                        _, err = await all_of(process)
    assert b"ended; roots left: 1" in err
    assert process.returncode == 0


# ---- HTTP ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.com", "", "127.0.0.1.example.com"])  # noqa: S104 - refused
def test_any_address_but_loopback_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match=r"not a loopback address.*use 127\.0\.0\.1:PORT"):
        listen(host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.9"])
def test_loopback_is_listened_on(host: str) -> None:
    with listen(host, 0) as sock:
        assert sock.getsockname()[0].startswith("127.")


def test_a_port_that_is_taken_is_a_clear_fault() -> None:
    with listen("127.0.0.1", 0) as sock, pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1:"):
        listen("127.0.0.1", int(sock.getsockname()[1]))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
    ids=["plain", "rebound host", "foreign origin", "another port's page", "a form's content type"],
)
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_web_pages_are_turned_away(era: str, headers: dict[str, str], status: int) -> None:
    if era == "2025-11-25":
        body = INITIALIZE
        extra = {}
    else:
        meta = {
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        extra = {"mcp-protocol-version": era, "mcp-method": "tools/list"}
    with anyio.fail_after(LONG):
        async with scripted_front(tools()) as front, served_http(scripted_server(front)) as url, httpx2.AsyncClient(timeout=LONG) as http:
            response = await http.post(url, content=json.dumps(body), headers={**ACCEPTED, **extra, **headers})
    assert response.status_code == status, response.text


async def test_a_flood_is_refused() -> None:
    with anyio.fail_after(LONG):
        async with scripted_front(tools()) as front, served_http(scripted_server(front)) as url, httpx2.AsyncClient(timeout=LONG) as http:
            response = await http.post(url, content=b" " * (4 * 1024 * 1024 + 1), headers={"content-type": "application/json"})
    assert response.status_code == 413


# ---- the key ------------------------------------------------------------------------------------


def test_a_key_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    key = request_state_key(tmp_path)
    assert len(key) == 32
    assert request_state_key(tmp_path) == key
    (file,) = tmp_path.iterdir()
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    request_state_key(tmp_path)
    (file,) = tmp_path.iterdir()
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        request_state_key(tmp_path)


def test_a_file_that_is_no_key_is_refused(tmp_path: Path) -> None:
    request_state_key(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text("short")
    with pytest.raises(ConfigError, match="not a key"):
        request_state_key(tmp_path)


async def test_the_end_of_an_answer_waits_for_no_word_of_the_clients() -> None:
    sent_at_once: list[int] = []
    come = anyio.Event()

    def comes(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent_at_once.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()
        come.set()

    with listen("127.0.0.1", 0) as sock:
        async with await asyncio.start_server(comes, sock=sock), await anyio.connect_tcp("127.0.0.1", sock.getsockname()[1]):
            with anyio.fail_after(LONG):
                await come.wait()
    assert sent_at_once == [1]
