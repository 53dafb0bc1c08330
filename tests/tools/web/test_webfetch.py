import gzip
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.tls import TLSStream

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PlainValue, Request
from mcp_server.tools.web.fetching import LARGEST
from mcp_server.tools.web.hosts import read_private_host
from mcp_server.tools.web.proxies import Proxies
from mcp_server.tools.web.wires import Wires
from mcp_server.tools.webfetch import WebFetchArguments, WebFetchTool
from tests.bounds import LONG
from tests.tools.lending import Lent, images_of, text_of
from tests.tools.web.site import Answer, Everywhere, Names, Site, port_of, reply, says, serving

PUBLIC = "93.184.215.14"


def near(**more: float) -> WebFetchTool:
    """The tool, for a person who opened this machine's own address."""
    entry = read_private_host("127.0.0.1")
    return WebFetchTool(Wires(private_hosts=lambda: (entry,), resolver=Names()), **more)


def far(site: Site, *answers: list[str], dead: tuple[str, ...] = ()) -> tuple[WebFetchTool, Names, Everywhere]:
    """The tool in a world where every address is the site, and names are looked up in the given answers."""
    names, network = Names(*(answers or ([PUBLIC],))), Everywhere(site, dead)
    return WebFetchTool(Wires(resolver=names, network=network)), names, network


def permitting(lent: Lent, allowed: Callable[[str], bool]) -> None:
    """From now on the rules allow these addresses without asking."""

    def said(request: Request) -> bool:
        return all(allowed(value.text) for value in request.values)

    lent.context = replace(lent.context, allowed=said)


async def _refusal(lent: Lent, tool: WebFetchTool, url: str, **more: object) -> str:
    with pytest.raises(ToolFailure) as refused, anyio.fail_after(LONG):
        await lent.call(tool, url=url, **more)
    return str(refused.value)


async def test_a_page_comes_as_markdown_with_whole_links(lent: Lent) -> None:
    page = b"<title>T</title><h1>Head</h1><p>One <b>two</b> <a href='/x'>three</a><script>evil()</script><ul><li>a<li>b</ul>"
    async with serving(says(reply(page, "text/html; charset=utf-8"))) as site:
        text = await lent.text(near(), url=site.url("/p#part"))
        assert text == (
            f"{site.url('/p')}: 200, text/html, {len(page)} bytes\n\nT\n\n# Head\n\n"
            f"One **two** [three]({site.url('/x')})\n\n- a\n- b"
        )  # fmt: skip
        assert site.asked[0].startswith(b"GET /p HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("form", "kind", "body", "shown"),
    [
        ("text", "text/html", b"<p>One <b>two</b></p><p>three", "One two\n\nthree"),
        ("html", "text/html", b"<p>One", "<p>One"),
        ("markdown", "application/json", b'{"a": "<b>"}', '{"a": "<b>"}'),
        ("markdown", "text/plain", b"a < b", "a < b"),
        ("markdown", "", b"<!DOCTYPE html><p>x", "x"),
        ("markdown", "text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
        ("markdown", "text/html", b"<meta charset=windows-1252><p>caf\xe9", "café"),
        ("markdown", "text/plain; charset=utf-16", "käse".encode("utf-16"), "käse"),
        ("markdown", "text/plain; charset=unicode_escape", b"\\x41", "\\x41"),
        ("markdown", "text/plain", b"", "(no text)"),
    ],
)
async def test_text_comes_in_the_form_that_is_asked_for(lent: Lent, form: str, kind: str, body: bytes, shown: str) -> None:
    async with serving(says(reply(body, kind))) as site:
        text = await lent.text(near(), url=site.url(), format=form)
    assert text.partition("\n\n")[2] == shown


async def test_an_image_comes_as_an_image_and_other_binary_files_are_refused(lent: Lent) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    async with serving(says(reply(png, "application/octet-stream"), reply(b"%PDF-1.7 \0", "text/html"), reply(b"x", "video/mp4"))) as site:
        [image] = images_of(await lent.call(near(), url=site.url()))
        assert image.media_type == "image/png"
        assert "is a PDF document, 10 bytes; only text and images are shown" in await _refusal(lent, near(), site.url())
        assert "is video/mp4" in await _refusal(lent, near(), site.url())


async def test_a_servers_failure_is_told_with_what_it_says(lent: Lent) -> None:
    async with serving(says(reply(b"not here", status="404 Not Found"))) as site:
        result = await lent.call(near(), url=site.url("/gone"))
    assert result.failed
    assert text_of(result) == f"{site.url('/gone')}: 404, text/plain, 8 bytes\n\nnot here"


async def test_a_long_page_is_saved_whole_and_shown_in_part(lent: Lent) -> None:
    async with serving(says(reply(b"line\n" * 50_000))) as site:
        text = await lent.text(near(), url=site.url())
    [saved] = lent.saved()
    assert str(saved) in text
    assert saved.read_bytes() == b"line\n" * 50_000
    assert len(text) < 60_000


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::]", "169.254.169.254", "10.0.0.1"])
async def test_no_private_address_is_fetched_unless_a_person_opened_it(lent: Lent, host: str) -> None:
    async with serving(says(reply(b"secret"))) as site:
        tool, _, network = far(site)
        refusal = await _refusal(lent, tool, site.url("/", host))
    assert "only public ones are fetched; nothing was sent" in refusal
    assert network.dialled == []
    assert site.asked == []


async def test_a_name_for_a_private_address_is_not_fetched(lent: Lent) -> None:
    async with serving(says(reply(b"secret"))) as site:
        tool, _, network = far(site, ["127.0.0.1"])
        assert "localtest.example (127.0.0.1) is a loopback address" in await _refusal(lent, tool, "http://localtest.example/")
    assert network.dialled == []


async def test_the_connection_goes_to_the_very_address_that_was_checked(lent: Lent) -> None:
    """A name that is public when it is checked and this machine when it is looked up again."""
    async with serving(says(reply(b"public"))) as site:
        tool, names, network = far(site, [PUBLIC], ["127.0.0.1"])
        assert "public" in await lent.text(tool, url="http://rebinds.example/")
    assert names.asked == [("rebinds.example", 80)]
    assert network.dialled == [(PUBLIC, 80)]
    assert b"\r\nHost: rebinds.example\r\n" in site.asked[0]


async def test_a_name_that_rebinds_between_two_redirects_is_refused_at_the_second(lent: Lent) -> None:
    permitting(lent, lambda _: True)
    async with serving(says(reply(b"", status="302 Found", Location="/next"), reply(b"secret"))) as site:
        tool, _, network = far(site, [PUBLIC], ["127.0.0.1"])
        assert "rebinds.example (127.0.0.1) is a loopback address" in await _refusal(lent, tool, "http://rebinds.example/")
    assert network.dialled == [(PUBLIC, 80)]


async def test_further_addresses_of_a_name_are_tried_where_the_first_does_not_answer(lent: Lent) -> None:
    async with serving(says(reply(b"second"))) as site:
        tool, _, network = far(site, [PUBLIC, "93.184.215.15"], dead=(PUBLIC,))
        assert "second" in await lent.text(tool, url="http://two.example/")
    assert network.dialled == [(PUBLIC, 80), ("93.184.215.15", 80)]


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/x", "http://localhost/x", "https://site.example/x", "http://other.example/x"])
async def test_a_redirect_to_another_site_comes_back_in_words_and_is_not_followed(lent: Lent, target: str) -> None:
    permitting(lent, lambda _: True)
    async with serving(says(reply(b"", status="301 Moved", Location=target), reply(b"secret"))) as site:
        tool, _, network = far(site)
        text = await lent.text(tool, url="http://site.example/")
    assert text.startswith(f"http://site.example/ redirects (301) to {target}. Nothing was fetched from there.")
    assert len(network.dialled) == 1


@pytest.mark.parametrize("target", ["file:///etc/passwd", "gopher://x/", "http://user:word@site.example/", "http://127.1/"])
async def test_a_redirect_to_what_is_no_address_is_refused(lent: Lent, target: str) -> None:
    async with serving(says(reply(b"", status="301 Moved", Location=target))) as site:
        tool, _, _ = far(site)
        assert "redirects to what cannot be fetched" in await _refusal(lent, tool, "http://site.example/")


async def test_a_redirect_within_the_site_is_followed_only_where_the_rules_allow_its_target(lent: Lent) -> None:
    answers = says(reply(b"", status="302 Found", Location="open"), reply(b"there"))
    async with serving(answers) as site:
        permitting(lent, lambda url: url.endswith("/open"))
        assert "there" in await lent.text(near(), url=site.url("/start"))
    for location in ("/closed", "/x//open/../../closed"):
        async with serving(says(reply(b"", status="302 Found", Location=location), reply(b"secret"))) as site:
            assert "is judged as a call of its own" in await lent.text(near(), url=site.url("/start"))
            assert len(site.asked) == 1


async def test_where_nobody_can_say_what_the_rules_allow_no_redirect_is_followed(lent: Lent) -> None:
    async with serving(says(reply(b"", status="302 Found", Location="/next"), reply(b"secret"))) as site:
        assert "redirects (302)" in await lent.text(near(), url=site.url())
        assert len(site.asked) == 1


async def test_redirects_in_a_circle_come_to_an_end(lent: Lent) -> None:
    permitting(lent, lambda _: True)
    async with serving(says(reply(b"", status="307 Again", Location="/"))) as site:
        assert "redirects again after 5 redirects" in await _refusal(lent, near(), site.url())
    assert len(site.asked) == 6


async def test_ten_gigabytes_that_are_announced_are_not_begun(lent: Lent) -> None:
    async with serving(says(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n" + b"x" * 1000)) as site:
        assert "has 10,000,000,000 bytes; at most 5,242,880 are fetched" in await _refusal(lent, near(), site.url())


async def test_ten_gigabytes_that_are_not_announced_are_cut_off(lent: Lent) -> None:
    sent = 0

    async def flood(stream: SocketStream, _head: bytes) -> None:
        nonlocal sent
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        for _ in range(10_000):
            await stream.send(chunk)
            sent += 0x100000

    async with serving(flood) as site:
        assert "has more than 5,242,880 bytes; the rest was not fetched" in await _refusal(lent, near(), site.url())
    assert sent < 10 * LARGEST


async def test_what_unpacks_to_gigabytes_is_cut_off(lent: Lent) -> None:
    bomb = gzip.compress(b"\0" * (200 * 1024 * 1024))
    async with serving(says(reply(bomb, Content_Encoding="gzip"), reply(gzip.compress(b"small"), Content_Encoding="gzip"))) as site:
        assert "has more than 5,242,880 bytes" in await _refusal(lent, near(), site.url())
        assert "small" in await lent.text(near(), url=site.url())


@pytest.mark.parametrize(("encoding", "words"), [("br", "packed as `br`"), ("gzip", "could not be unpacked")])
async def test_what_cannot_be_unpacked_is_refused(lent: Lent, encoding: str, words: str) -> None:
    async with serving(says(reply(b"x", Content_Encoding=encoding))) as site:
        assert words in await _refusal(lent, near(), site.url())


async def _never(stream: SocketStream, _head: bytes) -> None:
    await anyio.sleep_forever()


async def _drips(stream: SocketStream, _head: bytes) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await stream.send(b"x")
        await anyio.sleep(0.05)


@pytest.mark.parametrize("stalling", [_never, _drips])
async def test_a_server_that_stalls_is_left_in_time(lent: Lent, stalling: Answer) -> None:
    async with serving(stalling) as site:
        assert "did not answer whole within 1 s" in await _refusal(lent, near(), site.url(), timeout=1)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000,
        b"HTTP/1.1 -1 \r\n\r\n",
    ],
)
async def test_what_is_no_answer_of_a_web_server_is_told_in_words(lent: Lent, answer: bytes) -> None:
    async with serving(says(answer)) as site:
        assert "did not answer as a web server does" in await _refusal(lent, near(), site.url())


async def test_a_port_where_nobody_listens_is_told_in_words(lent: Lent) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert "could not be reached" in await _refusal(lent, near(), f"http://127.0.0.1:{taken.getsockname()[1]}/")


async def test_a_name_that_nobody_knows_is_told_in_words(lent: Lent) -> None:
    assert "the name nowhere.example could not be looked up" in await _refusal(
        lent, WebFetchTool(Wires(resolver=Names())), "http://nowhere.example/"
    )


@pytest.mark.parametrize(
    "page",
    [
        b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000,
        b"<blockquote><ul><li>" * 3000 + b"deep",
        b"<a href='" + b"x" * 2_000_000 + b"'>deep</a>",
        b"<p " + b"a=1 " * 100_000 + b">deep",
        b"<p>deep" + b" " * 500_000 + b"<script>" * 50_000,
    ],
    ids=["nested", "nested lists", "a huge attribute", "many attributes", "white space and scripts"],
)
async def test_hostile_html_is_bounded_and_its_text_is_told(lent: Lent, page: bytes) -> None:
    async with serving(says(reply(page, "text/html"))) as site:
        with anyio.fail_after(LONG):
            text = await lent.text(near(), url=site.url())
    assert "deep" in text
    assert len(text) < 10_000


async def test_html_that_would_never_come_to_an_end_is_given_up_in_words(lent: Lent) -> None:
    page = b"<!--" * 1_000_000
    async with serving(says(reply(page, "text/html"))) as site:
        assert "could not be taken apart within 1 s, and was given up" in await _refusal(lent, near(conversion_seconds=1), site.url())


async def test_a_person_is_shown_that_a_host_is_opened(lent: Lent) -> None:
    arguments = WebFetchArguments(url="http://127.0.0.1:8000/x")
    [request] = near().requests(arguments, lent.context)
    note = "127.0.0.1 is opened by webfetch.private_hosts: it may be in a private network"
    assert request == Request(permission="webfetch", values=(PlainValue(text="http://127.0.0.1:8000/x", note=note),))


async def test_a_path_that_servers_may_fold_is_asked_in_both_forms(lent: Lent) -> None:
    [request] = WebFetchTool().requests(WebFetchArguments(url="HTTPS://e.example//admin/%2e%2E/x#y"), lent.context)
    assert [value.text for value in request.values] == ["https://e.example//x", "https://e.example/x"]


async def test_a_call_that_nobody_judged_fetches_nothing(lent: Lent) -> None:
    async with serving(says(reply(b"x"))) as site:
        with pytest.raises(ToolFailure, match="nothing was done"):
            await near().run(WebFetchArguments(url=site.url()), lent.context)
        assert site.asked == []


async def test_a_proxy_is_asked_where_the_environment_names_one(lent: Lent) -> None:
    async with serving(says(reply(b"through the proxy"))) as proxy:
        wires = Wires(resolver=Names(), proxies=Proxies(http=f"http://user:word@127.0.0.1:{proxy.port}"))
        assert "through the proxy" in await lent.text(WebFetchTool(wires), url="http://site.example/x")
        assert proxy.asked[0].startswith(b"GET http://site.example/x HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic dXNlcjp3b3Jk\r\n" in proxy.asked[0]


@pytest.mark.parametrize("written", ["socks5://127.0.0.1:1", "127.0.0.1:port", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_told_in_words_without_its_password(lent: Lent, written: str) -> None:
    wires = Wires(resolver=Names(), proxies=Proxies(http=written))
    assert "the proxy that the environment names is no http or https address" in await _refusal(
        lent, WebFetchTool(wires), "http://a.example/"
    )


async def test_through_a_proxy_tls_ends_at_the_site(lent: Lent) -> None:
    async with serving(says(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")) as proxy:
        wires = Wires(resolver=Names(), proxies=Proxies(https=f"http://127.0.0.1:{proxy.port}"))
        assert "could not be reached: 403" in await _refusal(lent, WebFetchTool(wires), "https://site.example/x")
        assert proxy.asked[0].startswith(b"CONNECT site.example:443 HTTP/1.1\r\n")


@pytest.mark.parametrize(("host", "answers"), [("10.0.0.1", []), ("site.example", [["10.0.0.1"]]), ("localhost", []), ("x.internal", [])])
async def test_a_proxy_is_no_way_to_private_addresses(lent: Lent, host: str, answers: list[list[str]]) -> None:
    async with serving(says(reply(b"secret"))) as proxy:
        wires = Wires(resolver=Names(*answers), proxies=Proxies(http=f"http://127.0.0.1:{proxy.port}"))
        assert "only public ones are fetched; nothing was sent" in await _refusal(lent, WebFetchTool(wires), f"http://{host}/")
        assert proxy.asked == []


async def test_the_certificate_must_be_the_names_although_the_address_is_dialled(lent: Lent, tmp_path: Path, certificate: Path) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    said: list[str | None] = []

    def named(_socket: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        said.append(name)

    server.sni_callback = named
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = port_of(listener)

    async def secret(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream, ssl.SSLError):
                wrapped = await TLSStream.wrap(stream, server_side=True, ssl_context=server, standard_compatible=False)
                await wrapped.receive()
                await wrapped.send(reply(b"over tls"))

    trusted = ssl.create_default_context(cafile=str(certificate))
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, secret)
        tool = WebFetchTool(Wires(resolver=Names([PUBLIC]), network=Everywhere(Site(port=port)), tls=trusted))
        assert "over tls" in await lent.text(tool, url="https://site.example/")
        assert "could not be reached" in await _refusal(lent, tool, "https://other.example/")
        group.cancel_scope.cancel()
    assert said == ["site.example", "other.example"]
