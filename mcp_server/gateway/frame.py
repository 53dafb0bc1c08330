"""What all pages share: head, navigation, foot; and the pages for those who may not come in."""

from collections.abc import Iterable

from starlette.responses import HTMLResponse

from mcp_server.gateway.html import Child, Html, el

ROOMS = (("", "Inbox"), ("sessions", "Sessions"), ("rulings", "Rulings"), ("agents", "Agents"), ("audit", "Audit"))
"""The pages that the navigation leads to, below the door."""


def page(title: str, door: str, here: str, *body: Child | Iterable[Child], status: int = 200) -> HTMLResponse:
    """A whole page below the door. `here`: which of `ROOMS` it belongs to."""
    links = (
        el("li", None, el("a", {"href": f"/{door}/{place}", **({"aria-current": "page"} if place == here else {})}, name))
        for place, name in ROOMS
    )
    navigation = el("nav", {"aria-label": "Pages"}, el("ul", None, *links))
    foot = el("footer", None, el("p", None, "This page belongs to the browser that opened the link in your terminal."))
    return _whole(title, door, el("header", {"class": "top"}, el("p", {"class": "brand"}, "Remit"), navigation), body, foot, status)


def turned_away(words: str, status: int = 403) -> HTMLResponse:
    """For a browser that has not come in by a link."""
    return _whole("Not open here", None, None, (el("h1", None, "Not open here"), el("p", None, words)), None, status)


def _whole(
    title: str, door: str | None, top: Html | None, body: Iterable[Child | Iterable[Child]], foot: Html | None, status: int
) -> HTMLResponse:
    files = (
        [
            el("link", {"rel": "stylesheet", "href": f"/{door}/static/console.css"}),
            *(el("script", {"src": f"/{door}/static/{name}.js", "defer": True}) for name in ("cards", "console")),
        ]
        if door is not None
        else []
    )
    head = el(
        "head",
        None,
        el("meta", {"charset": "utf-8"}),
        el("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        el("meta", {"name": "color-scheme", "content": "light dark"}),
        el("title", None, f"{title} · Remit"),
        *files,
    )
    main = el("main", {"id": "main", "tabindex": "-1"}, *body)
    skip = el("a", {"class": "skip", "href": "#main"}, "To the content") if top is not None else None
    document = el("html", {"lang": "en"}, head, el("body", None, skip, top, main, foot))
    return HTMLResponse(f"<!doctype html>{document.text}", status)
