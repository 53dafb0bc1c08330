"""Search engines behind one call: what their wire formats have in common, and nothing else of them.

Where they are and which key they get comes from a person's or the operator's settings, never from a workspace or a model.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, Protocol, cast
from urllib.parse import urlencode

from mcp_server.errors import ToolFailure
from mcp_server.tools.web.fetching import ask_configured
from mcp_server.tools.web.urls import Url, read_url
from mcp_server.tools.web.wires import Wires

BRAVE = "https://api.search.brave.com/res/v1"

MOST = 20
"""Results of one search. What the engines give at once."""

LONGEST_TITLE, LONGEST_SNIPPET = 200, 500
"""Characters shown; engines give more where a page stuffs its description."""

_TAG = re.compile(r"<[^<>]{0,200}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One result. What it says was written by whoever owns the page."""

    title: str
    url: str
    snippet: str


class SearchProvider(Protocol):
    """One configured engine."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, count: int) -> tuple[Found, ...]:
        """The best `count` results, best first.

        Raises:
            ToolFailure: The engine did not answer, refused, or answered what it should not.
        """
        ...


class Brave:
    """Brave Search, and what speaks its web search API."""

    name = "brave"

    def __init__(self, base_url: str, key: str, wires: Wires) -> None:
        self._base = base_url.rstrip("/")
        self._key = key
        self._wires = wires

    async def search(self, query: str, count: int) -> tuple[Found, ...]:
        url = read_url(f"{self._base}/web/search?{urlencode({'q': query, 'count': count})}")
        answer = await _asked(self.name, url, {"X-Subscription-Token": self._key}, self._wires)
        return _results(_inside(answer, "web", "results"), "description", count)


class SearXng:
    """A SearXNG that allows the JSON format."""

    name = "searxng"

    def __init__(self, base_url: str, key: str | None, wires: Wires) -> None:
        self._base = base_url.rstrip("/")
        self._key = key
        self._wires = wires

    async def search(self, query: str, count: int) -> tuple[Found, ...]:
        url = read_url(f"{self._base}/search?{urlencode({'q': query, 'format': 'json'})}")
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return _results(_inside(await _asked(self.name, url, headers, self._wires), "results"), "content", count)


async def _asked(name: str, url: Url, headers: Mapping[str, str], wires: Wires) -> object:
    reply = await ask_configured(url, {"Accept": "application/json", **headers}, wires)
    match reply.status:
        case 200:
            pass
        case 401 | 403:
            raise ToolFailure(f"{name} refused the search ({reply.status}): its key, or its settings, must be put right by a person")
        case 429:
            wait = reply.headers.get("retry-after", "")
            hint = f"; it says to wait {wait} s" if wait.isascii() and wait.isdecimal() and len(wait) < 6 else ""
            raise ToolFailure(f"{name} takes no more searches for now (429){hint}")
        case status:
            raise ToolFailure(f"{name} answered {status} instead of results")
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise ToolFailure(f"{name} answered what is no JSON") from None


def _inside(answer: object, *keys: str) -> list[object]:
    """The list below these keys; where one is missing there are no results."""
    for key in keys:
        answer = cast("dict[str, object]", answer).get(key) if isinstance(answer, dict) else None
    return cast("list[object]", answer) if isinstance(answer, list) else []


def _results(written: list[object], snippet: str, count: int) -> tuple[Found, ...]:
    """Those with a web address, each text short and without markup."""
    found: list[Found] = []
    for one in written:
        if isinstance(one, dict):
            said = cast("dict[str, Any]", one)
            try:
                url = read_url(str(said.get("url", ""))).text
            except ToolFailure:
                continue
            found.append(Found(title=_plain(said.get("title"), LONGEST_TITLE), url=url, snippet=_plain(said.get(snippet), LONGEST_SNIPPET)))
    return tuple(found[:count])


def _plain(text: object, longest: int) -> str:
    words = " ".join(unescape(_TAG.sub("", str(text or "")[: 4 * longest])).split())
    return words if len(words) <= longest else f"{words[:longest]}…"
