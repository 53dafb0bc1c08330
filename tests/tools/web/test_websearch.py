import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.web.proxies import Proxies
from mcp_server.tools.web.search import Brave, SearchProvider, SearXng
from mcp_server.tools.web.wires import Wires
from mcp_server.tools.websearch import WebSearchArguments, WebSearchTool
from tests.tools.lending import Lent
from tests.tools.web.site import Site, reply, says, serving

BRAVE = {
    "type": "search",
    "web": {
        "results": [
            {"title": "One &amp; <strong>first</strong>", "url": "https://one.example/", "description": "About <b>one</b>\nthing"},
            {"title": "Bad", "url": "javascript:alert(1)", "description": "not a page"},
            {"title": "Two", "url": "https://TWO.example", "description": None},
            {"title": "Three", "url": "https://three.example/", "description": "x" * 5000},
        ]
    },
}
SEARXNG = {
    "query": "q",
    "results": [
        {"url": "https://one.example/", "title": "One", "content": "About one", "engine": "x", "score": 1.0},
        "nonsense",
        {"url": "https://two.example/", "title": "Two", "content": ""},
    ],
}


def brave(site: Site) -> SearchProvider:
    return Brave(f"http://127.0.0.1:{site.port}/res/v1", "the-key", Wires())


def searxng(site: Site) -> SearchProvider:
    return SearXng(f"http://127.0.0.1:{site.port}/", None, Wires())


def _asked(head: bytes) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(head.split(b" ")[1].decode())
    return parts.path, parse_qs(parts.query)


async def test_brave_is_asked_in_its_own_way_and_its_answer_read(lent: Lent) -> None:
    async with serving(says(reply(json.dumps(BRAVE).encode(), "application/json"))) as site:
        text = await lent.text(WebSearchTool(brave(site)), query=" what  is\none? ", count=2)
    assert text == "1. One & first\nhttps://one.example/\nAbout one thing\n\n2. Two\nhttps://two.example/"
    assert _asked(site.asked[0]) == ("/res/v1/web/search", {"q": ["what is one?"], "count": ["2"]})
    assert b"\r\nX-Subscription-Token: the-key\r\n" in site.asked[0]


async def test_searxng_is_asked_in_its_own_way_and_its_answer_read(lent: Lent) -> None:
    async with serving(says(reply(json.dumps(SEARXNG).encode(), "application/json"))) as site:
        text = await lent.text(WebSearchTool(searxng(site)), query="one")
    assert text == "1. One\nhttps://one.example/\nAbout one\n\n2. Two\nhttps://two.example/"
    assert _asked(site.asked[0]) == ("/search", {"q": ["one"], "format": ["json"]})
    assert b"uthorization" not in site.asked[0]


async def test_a_searxng_behind_a_key_gets_it(lent: Lent) -> None:
    async with serving(says(reply(b"{}"))) as site:
        await lent.call(WebSearchTool(SearXng(site.url(), "the-key", Wires())), query="one")
    assert b"\r\nAuthorization: Bearer the-key\r\n" in site.asked[0]


@pytest.mark.parametrize("made", [brave, searxng])
@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"results": {}, "web": []}', b'{"results": [], "web": {"results": []}}'])
async def test_no_results_are_told_as_such(lent: Lent, made: Callable[[Site], SearchProvider], body: bytes) -> None:
    async with serving(says(reply(body))) as site:
        assert await lent.text(WebSearchTool(made(site)), query="one") == "nothing found for: one"


@pytest.mark.parametrize("made", [brave, searxng])
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(b"", status="401 No"), "refused the search (401)"),
        (reply(b"", status="403 No"), "refused the search (403)"),
        (reply(b"", status="429 Later", Retry_After="7"), "takes no more searches for now (429); it says to wait 7 s"),
        (reply(b"", status="302 Found", Location="http://x/"), "answered 302 instead of results"),
        (reply(b"", status="500 Broken"), "answered 500 instead of results"),
        (reply(b"<html>"), "answered what is no JSON"),
        (reply(b"[" * 200_000), "answered what is no JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", "at most 5,242,880 are fetched"),
        (b"", "did not answer as a web server does"),
    ],
)
async def test_what_is_no_result_is_told_in_words_without_the_key(
    lent: Lent, made: Callable[[Site], SearchProvider], answer: bytes, words: str
) -> None:
    async with serving(says(answer)) as site:
        with pytest.raises(ToolFailure) as refused:
            await lent.call(WebSearchTool(made(site)), query="one")
    assert words in str(refused.value)
    assert "the-key" not in str(refused.value)


async def test_a_long_text_is_cut(lent: Lent) -> None:
    async with serving(says(reply(json.dumps(BRAVE).encode()))) as site:
        text = await lent.text(WebSearchTool(brave(site)), query="one")
    assert len(text) < 1000


async def test_the_query_is_what_is_judged(lent: Lent) -> None:
    tool = WebSearchTool(Brave("https://search.example", "k", Wires()))
    [request] = tool.requests(WebSearchArguments(query=" a \n b "), lent.context)
    assert (request.permission, [value.text for value in request.values]) == ("websearch", ["a b"])
    with pytest.raises(ToolFailure, match="the query is empty"):
        tool.requests(WebSearchArguments(query=" \n"), lent.context)


async def test_a_proxy_is_asked_here_too(lent: Lent) -> None:
    async with serving(says(reply(b"{}"))) as proxy:
        wires = Wires(proxies=Proxies(http=f"http://127.0.0.1:{proxy.port}"))
        await lent.call(WebSearchTool(Brave("http://search.example", "k", wires)), query="one")
    assert proxy.asked[0].startswith(b"GET http://search.example/web/search?q=one&count=8 HTTP/1.1\r\n")
