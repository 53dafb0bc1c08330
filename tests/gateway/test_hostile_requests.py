"""Requests that no client of good will makes: turned away in the same words, bounded, and others are served meanwhile."""

import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from joserfc.jwk import RSAKey
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.gateway.connections import FEWEST_OF_ONE
from mcp_server.gateway.proxies import REFUSED, behind
from mcp_server.protocol.http import listen
from tests.behaviour.gated import gated
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing, rsa
from tests.gateway.inside import Inside, inside
from tests.gateway.proxied import certificate_in
from tests.gateway.speaking import HELLO, Speaker
from tests.gateway.test_tokens import FORGED
from tests.protocol.connect import ERAS, Era

LIMITS = {"body_bytes": 64 * 1024, "header_bytes": 8 * 1024, "request_seconds": 1.0}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def issuer(anyio_backend: str) -> AsyncGenerator[Issuer]:
    async with issuing() as issuer:
        yield issuer


@pytest.fixture(scope="module")
async def gateway(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Inside]:
    world = make_world(tmp_path_factory.mktemp("hostile") / "team")
    async with inside(world, {"issuers": [{"issuer": issuer.url}], "limits": LIMITS}) as served:
        yield served


@pytest.fixture(scope="module")
async def wire(anyio_backend: str) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        yield wire


# ---- tokens ---------------------------------------------------------------------------------------


def _mine(issuer: Issuer, audience: str, **said: Any) -> str:
    return issuer.token(audience, **said)


WRONG: dict[str, Callable[[Issuer, str], str]] = {
    **{name: lambda issuer, _, forge=forge: forge(issuer) for name, forge in FORGED.items() if name not in ("too long", "empty")},
    "expired": lambda issuer, url: _mine(issuer, url, exp=1_000_000),
    "not valid yet": lambda issuer, url: _mine(issuer, url, nbf=99_999_999_999),
    "made in the future": lambda issuer, url: _mine(issuer, url, iat=99_999_999_999),
    "without an end": lambda issuer, url: _mine(issuer, url, exp=None),
    "for somebody else": lambda issuer, _: _mine(issuer, "https://elsewhere.example.org/mcp"),
    "for nobody": lambda issuer, url: _mine(issuer, url, aud=None),
    "by an issuer that nobody trusts": lambda issuer, url: _mine(issuer, url, iss="https://elsewhere.example.org"),
    "by a key that nobody knows": lambda issuer, url: issuer.token(url, key=rsa("unknown")),
    "without a person": lambda issuer, url: _mine(issuer, url, sub=None),
    "an ID token": lambda issuer, _: _mine(issuer, "editor", nonce="n"),
    "opaque": lambda _, __: "made-up",
    "a key of ours that never was": lambda _, __: "remit_key_" + "a" * 59,
    "its key in its header": lambda issuer, url: issuer.token(url, key=(key := rsa("first")), header={"jwk": public(key)}),
}


def public(key: RSAKey) -> Mapping[str, Any]:
    return key.as_dict(private=False)


async def test_whatever_is_wrong_with_a_token_it_is_refused_in_one_wording_and_stands_nowhere(
    gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient, capfd: pytest.CaptureFixture[str]
) -> None:
    tokens = {name: make(issuer, gateway.url) for name, make in WRONG.items()}
    said: dict[str, tuple[int, str, str]] = {}
    for name, token in tokens.items():
        for era in ERAS:
            speaker = Speaker(wire=wire, url=gateway.url, token=token, era=era)
            answer = await speaker.posted("tools/list")
            said[f"{name}, {era}"] = (answer.status_code, answer.text, answer.headers["www-authenticate"])
    first = next(iter(said.values()))
    assert [name for name, one in said.items() if one != first] == []
    assert first[0] == 401
    told = capfd.readouterr()
    files = [file.read_bytes().decode("latin-1") for file in gateway.world.folder.rglob("*") if file.is_file()]
    kept = "".join((told.out, told.err, *files))
    assert "a token was refused" in kept
    assert [name for name, token in tokens.items() if any(len(part) > 20 and part in kept for part in token.split("."))] == []


# ---- hosts, pages, headers ------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost"])
async def test_another_host_is_not_served_whatever_token_comes_with_it(
    host: str, gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient
) -> None:
    speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era="2026-07-28")
    answer = await speaker.posted("tools/list", host=host)
    assert (answer.status_code, answer.text) == (421, "This host is not served here.")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1.evil.example"])
async def test_a_page_from_elsewhere_may_not_call(origin: str, gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient) -> None:
    speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era="2026-07-28")
    answer = await speaker.posted("tools/list", origin=origin)
    assert (answer.status_code, answer.text) == (403, "Pages from there may not call.")


async def test_headers_that_name_something_else_than_the_body_are_refused_before_anything_is_called(
    gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient
) -> None:
    speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era="2026-07-28")
    call: dict[str, Any] = {"name": "write", "arguments": {"filePath": "x.txt", "content": "x"}}
    lies: list[dict[str, str]] = [{"mcp-name": "read"}, {"mcp-method": "tools/list"}, {"mcp-name": ""}, {"mcp-name": "write, read"}]
    for lie in lies:
        answer = await speaker.posted("tools/call", call, **lie)
        assert (answer.status_code, answer.text) == (400, "The headers name something else than the request."), lie
    for lie in ({"mcp-name": "call_other"}, {"mcp-method": "tasks/get"}):
        answer = await speaker.posted("tasks/cancel", {"taskId": "call_one"}, **lie)
        assert answer.status_code == 400, lie
    assert not (gateway.world.workspace / "x.txt").exists()
    assert await gateway.store.prompts() == ()


@pytest.mark.parametrize("era", ERAS)
async def test_a_request_that_could_not_be_answered_is_refused(era: Era, gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient) -> None:
    speaker = await Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era=era).opened()
    call: dict[str, Any] = {"name": "session_info", "arguments": {}}
    message = speaker.message("tools/call", call)
    nameless = {name: value for name, value in message.items() if name != "id"}
    for one in (nameless, *({**message, "id": id_} for id_ in (None, True, 1.0, [1]))):
        answer = await wire.post(gateway.url, json=one, headers=speaker.headers("tools/call", call))
        assert (answer.status_code, answer.text) == (400, "A request needs an id: a text or a whole number."), one.get("id")


async def test_whoever_opens_sessions_without_end_loses_their_own_and_takes_nobody_elses(
    issuer: Issuer, wire: httpx2.AsyncClient, tmp_path: Path
) -> None:
    limits = {"limits": {"sessions": FEWEST_OF_ONE + 2}}
    async with inside(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}], **limits}) as gateway:

        async def opens(name: str, client: str) -> Speaker:
            token = issuer.token(gateway.url, sub=name, client_id=client)
            return await Speaker(wire=wire, url=gateway.url, token=token, era="2025-11-25").opened()

        ada = await opens("ada", "editor")
        greedy = [await opens("eve", f"client-{number}") for number in range(FEWEST_OF_ONE + 3)]
        served = [(await one.posted("ping")).status_code for one in (*greedy, ada, await opens("bob", "editor"))]
        assert served == [404] * 3 + [200] * (FEWEST_OF_ONE + 2)


async def test_a_session_cannot_be_chosen_before_it_is_opened(gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient) -> None:
    """Session fixation: an id that somebody made up becomes nobody's session, and one who opens gets an id of the server's own."""
    speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era="2025-11-25", session="f" * 32)
    hello = speaker.message("initialize", {**HELLO, "capabilities": {}})
    answer = await wire.post(gateway.url, json=hello, headers=speaker.headers())
    assert answer.headers.get("mcp-session-id") != speaker.session
    assert (await speaker.posted("tools/list")).status_code == 404


# ---- large, slow, half-open -----------------------------------------------------------------------


async def test_what_is_too_large_is_refused(gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient) -> None:
    speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era="2026-07-28")
    large = await speaker.posted("tools/call", {"name": "write", "arguments": {"filePath": "x", "content": "x" * 70_000}})
    assert (large.status_code, large.text) == (413, "The request is too large.")
    floods: list[dict[str, str]] = [{"x-padding": "x" * 9000}, {f"x-{number}": "x" * 100 for number in range(100)}]
    for flood in floods:
        flooded = await speaker.posted("tools/list", None, **flood)
        assert (flooded.status_code, flooded.text) == (431, "The headers are too large.")


SLOW = {
    "nothing": "",
    "half a head": "POST /mcp HTTP/1.1\r\nhost: {host}\r\n",
    "half a body": "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: 1000\r\n\r\n{{",
    "half a chunk": "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{{",
}


async def test_fifty_that_never_finish_are_ended_and_others_are_served_meanwhile(
    gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient
) -> None:
    host, token = gateway.url.split("/")[2], issuer.token(gateway.url)
    name, _, port = host.partition(":")
    ended: list[str] = []

    async def hang(kind: str) -> None:
        async with await anyio.connect_tcp(name, int(port)) as stream:
            if SLOW[kind]:
                await stream.send(SLOW[kind].format(host=host, token=token).encode())
            heard = b""
            try:
                while part := await stream.receive():
                    heard += part
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
            assert not heard or b" 408 " in heard.split(b"\r\n")[0], heard
            ended.append(kind)

    with anyio.fail_after(2 * LONG):
        async with anyio.create_task_group() as group:
            for number in range(52):
                group.start_soon(hang, list(SLOW)[number % len(SLOW)])
            for _ in range(5):
                speaker = Speaker(wire=wire, url=gateway.url, token=token, era="2026-07-28")
                assert "A sample." in str(await speaker.calls("read", filePath="README.md"))
    assert len(ended) == 52


# ---- proxies and TLS ------------------------------------------------------------------------------


async def _tells(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope)
    await JSONResponse({"client": scope["client"][0], "scheme": request.url.scheme})(scope, receive, send)


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[str]:
    with listen("127.0.0.1", 0) as sock:
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="off", proxy_headers=False))
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
            running.should_exit = True


async def test_who_comes_by_no_proxy_is_not_served_and_what_they_say_of_themselves_is_not_believed() -> None:
    lies = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https"}
    async with served(behind(_tells, ["127.0.0.2/32"])) as origin, httpx2.AsyncClient(headers=lies, timeout=LONG) as direct:
        refused = await direct.get(f"{origin}/mcp")
        assert (refused.status_code, refused.text) == (403, REFUSED)
        proxy = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
        async with httpx2.AsyncClient(transport=proxy, headers=lies, timeout=LONG) as passed_on:
            assert (await passed_on.get(f"{origin}/mcp")).json() == {"client": "203.0.113.9", "scheme": "https"}
    async with served(behind(_tells, [])) as origin, httpx2.AsyncClient(headers=lies, timeout=LONG) as direct:
        assert (await direct.get(f"{origin}/mcp")).json() == {"client": "127.0.0.1", "scheme": "http"}


async def test_a_gateway_shows_a_certificate_of_its_own_and_speaks_to_nobody_in_the_clear(tmp_path: Path, issuer: Issuer) -> None:
    certificate = certificate_in(tmp_path)
    tls = {"certificate": str(certificate.chain), "private_key": str(certificate.key)}
    async with gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}], "tls": tls}) as secured:
        url = secured.url.replace("http:", "https:")
        trusting = ssl.create_default_context(cafile=str(certificate.chain))
        async with httpx2.AsyncClient(verify=trusting, timeout=LONG) as wire:
            speaker = await Speaker(wire=wire, url=url, token=issuer.token(secured.url), era="2026-07-28").opened()
            assert "A sample." in str(await speaker.calls("read", filePath="README.md"))
        async with httpx2.AsyncClient(timeout=LONG) as wire:
            with pytest.raises(httpx2.HTTPError):
                await wire.get(url)
            with pytest.raises(httpx2.HTTPError):
                await wire.get(secured.url)
