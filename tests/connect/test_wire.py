"""What goes over the wire on either side of the bridge, at a server of the tests' own that does what real ones do at their worst."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from mcp_server.connect.keys import Key
from mcp_server.connect.reaching import PAUSES, Server
from mcp_server.connect.relay import Relay
from tests.bounds import LONG
from tests.connect.authorizing import running_app
from tests.ports import held_port

KEY = "key-of-a-machine"
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
CAPABILITIES = {"tools": {"listChanged": True}}
META: dict[str, Any] = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}

Answers = Callable[[Request, dict[str, Any]], Awaitable[Response]]


class Played:
    """A server: it keeps what it was sent, and answers as the test has it."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.sent: list[tuple[str, str, dict[str, str]]] = []
        """HTTP method, JSON-RPC method, headers."""
        self.bodies: list[bytes] = []

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        message: dict[str, Any] = json.loads(body) if body else {}
        self.bodies.append(body)
        self.sent.append((request.method, message.get("method", ""), dict(request.headers)))
        return await self.answers(request, message)

    def methods(self) -> list[str]:
        return [method or verb for verb, method, _ in self.sent]

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{rest:path}", self.answer, methods=["GET", "POST", "DELETE"])])


class Host:
    """A host on standard input and output."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._lines, self._coming = anyio.create_memory_object_stream[str](100)
        self._heard, self._hearing = anyio.create_memory_object_stream[str](100)

    async def send(self, message: dict[str, Any] | str) -> None:
        await self._lines.send(message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message}))

    async def hears(self) -> dict[str, Any]:
        with anyio.fail_after(LONG):
            return json.loads(await self._hearing.receive())

    async def hears_text(self) -> str:
        with anyio.fail_after(LONG):
            return await self._hearing.receive()

    def end(self) -> None:
        self._lines.close()

    @asynccontextmanager
    async def at(self, url: str, pauses: tuple[float, ...] = PAUSES) -> AsyncGenerator[None]:
        """With a bridge to that address, until the host's input ends."""
        server = Server(url, Key(KEY), pauses)
        with anyio.fail_after(2 * LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(Relay(server, self._heard.send, self.said.append).run, self._coming)
                yield
                self.end()
        await server.close()
        for stream in (self._coming, self._heard, self._hearing):
            stream.close()

    async def begin(self) -> None:
        await self.send({"id": 0, "method": "initialize", "params": HANDSHAKE})
        assert (await self.hears())["id"] == 0
        await self.send({"method": "notifications/initialized"})


def result(message: dict[str, Any], **values: Any) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": values})


def opens(message: dict[str, Any], session: str) -> Response:
    answer = result(message, protocolVersion="2025-11-25", capabilities=CAPABILITIES, serverInfo={"name": "s", "version": "1"})
    answer.headers["mcp-session-id"] = session
    return answer


def calls(answers: Answers) -> Answers:
    """A server of the era before that opens its one session, takes notices and has no stream to listen at: `answers` is for calls, and for
    streams that are taken up where they ended.
    """

    async def answered(request: Request, message: dict[str, Any]) -> Response:
        if message.get("method") == "initialize":
            return opens(message, "one")
        if message.get("method") == "tools/call" or request.headers.get("last-event-id") == "e1":
            return await answers(request, message)
        return Response(status_code=202 if request.method == "POST" else 405)

    return answered


async def test_a_redirect_to_another_origin_is_not_followed_and_the_key_stays_here() -> None:
    async def catches(_: Request, message: dict[str, Any]) -> Response:
        return result(message)

    elsewhere = Played(catches)
    async with running_app(elsewhere.app()) as other:

        async def leads_away(_: Request, __: dict[str, Any]) -> Response:
            return RedirectResponse(f"{other}/mcp?secret=1", 307)

        async with running_app(Played(leads_away).app()) as origin:
            host = Host()
            async with host.at(f"{origin}/mcp"):
                await host.send({"id": 1, "method": "tools/list", "params": {"_meta": META}})
                told = (await host.hears())["error"]["message"]
    assert f"redirects to {other}/mcp, which is not followed" in told
    assert "secret" not in told
    assert elsewhere.sent == []


async def test_a_redirect_within_the_origin_is_followed_with_the_whole_message() -> None:
    async def adds_a_slash(request: Request, message: dict[str, Any]) -> Response:
        return result(message, ok=True) if request.url.path == "/mcp/" else RedirectResponse("/mcp/", 308)

    server = Played(adds_a_slash)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.send({"id": 1, "method": "tools/list", "params": {"_meta": META}})
            assert (await host.hears())["result"] == {"ok": True}
    assert server.bodies[0] == server.bodies[1]


async def test_a_message_keeps_every_byte_and_travels_with_the_headers_that_repeat_it() -> None:
    async def answers(_: Request, message: dict[str, Any]) -> Response:
        text = f'{{"jsonrpc":"2.0",\n"id":{json.dumps(message["id"])},"result":{{"n":1.10,"big":12345678901234567890123,"x":"\\u00e4"}}}}'
        return Response(text, media_type="application/json")

    server = Played(answers)
    sent = (
        '{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"ä b","arguments":{"n":1.10},"_meta":'
        + json.dumps(META)
        + '},"more":[]}'
    )
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.send(sent)
            told = await host.hears_text()
    assert told == '{"jsonrpc":"2.0", "id":"a-1","result":{"n":1.10,"big":12345678901234567890123,"x":"\\u00e4"}}'
    (_, _, headers) = server.sent[0]
    assert server.bodies == [sent.encode()]
    assert (headers["mcp-protocol-version"], headers["mcp-method"], headers["mcp-name"]) == (
        "2026-07-28",
        "tools/call",
        "=?base64?w6QgYg==?=",
    )
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "mcp-session-id" not in headers


async def test_a_session_that_the_server_ended_is_opened_again_as_the_host_opened_it() -> None:
    lives = ["first", "second"]

    async def answers(request: Request, message: dict[str, Any]) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        if message["method"] == "initialize":
            return opens(message, lives[0])
        if request.headers["mcp-session-id"] != lives[0]:
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}, 404)
        return result(message, told=request.headers["mcp-session-id"]) if "id" in message else Response(status_code=202)

    server = Played(answers)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.begin()
            await host.send({"id": 1, "method": "logging/setLevel", "params": {"level": "info"}})
            assert (await host.hears())["result"] == {"told": "first"}
            lives.pop(0)
            await host.send({"id": 2, "method": "tools/list"})
            assert (await host.hears())["method"] == "notifications/tools/list_changed"
            assert (await host.hears())["result"] == {"told": "second"}
    opened = [json.loads(body)["params"] for body in server.bodies if b'"initialize"' in body]
    assert opened == [HANDSHAKE, HANDSHAKE]
    assert server.methods().count("logging/setLevel") == 2, "what the host had set is set again"
    assert server.sent[-1][0] == "DELETE"
    assert server.sent[-1][2]["mcp-session-id"] == "second"


NOT_FOUND: dict[str, Callable[[], Response]] = {
    "a page": lambda: Response("<h1>404 Not Found</h1>", 404, media_type="text/html"),
    "nothing": lambda: Response(status_code=404),
    "an object of a proxy's": lambda: JSONResponse({"error": {"code": 404, "message": "no such route"}}, 404),
    "json that breaks off": lambda: Response('{"jsonrpc": "2.0", "error": {"co', 404, media_type="application/json"),
    "a list": lambda: JSONResponse([], 404),
}


@pytest.mark.parametrize("method", ["tools/call", "tasks/update", "tasks/cancel", "made/up"])
@pytest.mark.parametrize("answered", NOT_FOUND.values(), ids=NOT_FOUND)
async def test_what_may_change_something_is_not_sent_again_after_a_404_that_no_mcp_server_wrote(
    answered: Callable[[], Response], method: str
) -> None:
    lives, effects = ["first", "second"], list[str]()

    async def answers(request: Request, message: dict[str, Any]) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        if message["method"] == "initialize":
            return opens(message, lives[0])
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == method:
            effects.append(request.headers["mcp-session-id"])  # the server took it, and died; what stood in front of it answers
        if request.headers["mcp-session-id"] != lives[0]:
            return answered()
        return result(message, told=request.headers["mcp-session-id"])

    server = Played(answers)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.begin()
            lives.pop(0)
            await host.send({"id": 1, "method": method, "params": {"name": "write"}})
            assert (await host.hears())["method"] == "notifications/tools/list_changed"
            told = (await host.hears())["error"]["message"]
            assert "whether the call took effect is not known, so it was not made again" in told
            assert effects == ["first"]
            lives.append("third")
            lives.pop(0)
            await host.send({"id": 2, "method": "tools/list"})
            assert (await host.hears())["method"] == "notifications/tools/list_changed"
            assert (await host.hears())["result"] == {"told": "third"}, "what changes nothing is asked again in the new session"


async def test_a_call_that_the_server_itself_says_it_did_not_take_is_made_in_a_new_session_and_only_there() -> None:
    lives, effects = ["first", "second"], list[str]()

    async def answers(request: Request, message: dict[str, Any]) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        if message["method"] == "initialize":
            return opens(message, lives[0])
        if request.headers["mcp-session-id"] != lives[0]:
            return JSONResponse({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}, 404)
        if message["method"] == "tools/call":
            effects.append(request.headers["mcp-session-id"])
        return result(message, told=request.headers["mcp-session-id"]) if "id" in message else Response(status_code=202)

    async with running_app(Played(answers).app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.begin()
            lives.pop(0)
            await host.send({"id": 1, "method": "tools/call", "params": {"name": "write"}})
            assert (await host.hears())["method"] == "notifications/tools/list_changed"
            assert (await host.hears())["result"] == {"told": "second"}
    assert effects == ["second"]


@pytest.mark.parametrize("modern", [True, False])
async def test_a_call_whose_connection_breaks_is_answered_with_an_error_and_never_made_again(modern: bool) -> None:
    @calls
    async def answers(_: Request, __: dict[str, Any]) -> Response:
        async def breaks() -> AsyncGenerator[bytes]:
            yield b": alive\n\n"
            raise ConnectionResetError

        return StreamingResponse(breaks(), media_type="text/event-stream")

    server = Played(answers)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            if not modern:
                await host.begin()
            await host.send({"id": 1, "method": "tools/call", "params": {"name": "write", **({"_meta": META} if modern else {})}})
            told = (await host.hears())["error"]["message"]
    assert "broke before the answer came; whether the call took effect is not known" in told
    assert server.methods().count("tools/call") == 1


async def test_a_server_that_is_not_there_is_said_to_be() -> None:
    host = Host()
    with held_port() as port:
        async with host.at(f"http://127.0.0.1:{port}/mcp", pauses=(0.01, 0.01)):
            await host.send({"id": 1, "method": "tools/list", "params": {"_meta": META}})
            assert "cannot be reached" in (await host.hears())["error"]["message"]


async def test_a_server_that_is_not_there_yet_is_found_once_it_is() -> None:
    async def answers(_: Request, message: dict[str, Any]) -> Response:
        return result(message, ok=True)

    host = Host()
    with held_port() as port:
        async with host.at(f"http://127.0.0.1:{port}/mcp", pauses=(0.02,) * int(LONG / 0.02)):
            await host.send({"id": 2, "method": "tools/list", "params": {"_meta": META}})
            await anyio.wait_all_tasks_blocked()
            async with running_app(Played(answers).app(), port):
                assert await host.hears() == {"jsonrpc": "2.0", "id": 2, "result": {"ok": True}}


async def test_cancelling_ends_the_connection_from_2026_on_and_sends_a_message_before() -> None:
    ended, held = anyio.Event(), anyio.Event()

    @calls
    async def answers(_: Request, __: dict[str, Any]) -> Response:
        held.set()

        async def stays() -> AsyncGenerator[bytes]:
            try:
                yield b": alive\n\n"
                await anyio.sleep_forever()
            finally:
                ended.set()

        return StreamingResponse(stays(), media_type="text/event-stream")

    server = Played(answers)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.send({"id": 7, "method": "tools/call", "params": {"name": "bash", "_meta": META}})
            await held.wait()
            await host.send({"method": "notifications/cancelled", "params": {"requestId": 7, "_meta": META}})
            await ended.wait()
            assert "notifications/cancelled" not in server.methods()
            await host.begin()
            await host.send({"id": 8, "method": "tools/call", "params": {"name": "bash"}})
            await host.send({"method": "notifications/cancelled", "params": {"requestId": 8}})
            await host.send({"id": 9, "method": "initialize", "params": HANDSHAKE})
            assert (await host.hears())["id"] == 9
            assert "notifications/cancelled" in server.methods()


async def test_the_end_of_the_hosts_input_ends_everything_at_once_and_the_session_too() -> None:
    held = anyio.Event()

    @calls
    async def answers(_: Request, __: dict[str, Any]) -> Response:
        held.set()
        await anyio.sleep_forever()
        raise AssertionError

    server = Played(answers)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.begin()
            await host.send({"id": 8, "method": "tools/call", "params": {"name": "bash"}})
            await held.wait()
    assert server.sent[-1][0] == "DELETE"


@pytest.mark.parametrize("line", ["no json", "[]", "5", '{"jsonrpc":"2.0"}', '{"id":null,"method":"x"}', "[" * 100_000])
async def test_what_is_no_message_is_answered_with_an_error_and_sent_nowhere(line: str) -> None:
    host = Host()
    async with host.at("http://127.0.0.1:9/mcp"):
        await host.send(line)
        told = await host.hears()
    assert (told["id"], told["error"]["code"] in (-32700, -32600)) == (None, True)


async def test_a_key_that_does_not_count_is_said_to_and_is_in_no_text() -> None:
    async def refuses(_: Request, __: dict[str, Any]) -> Response:
        return Response(status_code=401)

    async with running_app(Played(refuses).app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.send({"id": 1, "method": "tools/list", "params": {"_meta": META}})
            told = await host.hears_text()
    assert "does not take this API key" in told
    assert KEY not in told + "".join(host.said)


async def test_a_stream_that_ends_before_the_answer_is_taken_up_where_it_ended() -> None:
    answer = json.dumps({"jsonrpc": "2.0", "id": 5, "result": {"late": True}})

    @calls
    async def answers(request: Request, _: dict[str, Any]) -> Response:
        if request.method == "GET":
            return Response(f"id: e2\ndata: {answer}\n\n", media_type="text/event-stream")
        return Response("id: e1\nretry: 1\ndata:\n\n", media_type="text/event-stream")

    server = Played(answers)
    async with running_app(server.app()) as origin:
        host = Host()
        async with host.at(f"{origin}/mcp"):
            await host.begin()
            await host.send({"id": 5, "method": "tools/call", "params": {"name": "slow"}})
            assert (await host.hears())["result"] == {"late": True}
    assert server.methods().count("tools/call") == 1
