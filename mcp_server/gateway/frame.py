"""What all pages share: head, navigation, foot; and the pages for those who may not come in."""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.responses import HTMLResponse

from mcp_server.gateway.html import Child, Html, el
from mcp_server.store.ids import is_id

ROOMS = (("", "Inbox"), ("sessions", "Sessions"), ("rulings", "Rulings"), ("agents", "Agents"), ("audit", "Audit"))
"""The pages that the navigation leads to, below the door."""

TEAM_ROOMS = tuple(room for room in ROOMS if room[0] != "agents")
"""Those of a gateway's console: nobody reads agents and rules there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the pages of one visit."""

    door: str
    """What every path of them begins with, without the slashes around it."""
    foot: Child
    rooms: tuple[tuple[str, str], ...] = ROOMS
    aside: Child = None
    """Beside the navigation."""

    def page(self, title: str, here: str, *body: Child | Iterable[Child], status: int = 200) -> HTMLResponse:
        """A whole page. `here`: which of the rooms it belongs to."""
        links = (
            el("li", None, el("a", {"href": f"/{self.door}/{place}", **({"aria-current": "page"} if place == here else {})}, name))
            for place, name in self.rooms
        )
        navigation = el("nav", {"aria-label": "Pages"}, el("ul", None, *links))
        top = el("header", {"class": "top"}, el("p", {"class": "brand"}, "Remit"), navigation, self.aside)
        return _whole(title, self.door, top, body, el("footer", None, el("p", None, self.foot)), status)


def bare(title: str, door: str, *body: Child | Iterable[Child], status: int = 200) -> HTMLResponse:
    """A page for those who have not come in, of a console whose door everybody may know."""
    files = (el("link", {"rel": "stylesheet", "href": f"/{door}/static/console.css"}),)
    return _document(title, files, None, body, None, status)


def turned_away(words: str, status: int = 403) -> HTMLResponse:
    """For a browser that has not come in by a link."""
    return _whole("Not open here", None, None, (el("h1", None, "Not open here"), el("p", None, words)), None, status)


def outside(prompt_id: str) -> HTMLResponse:
    """What a link to a prompt shows a browser that has not signed in, or that has no scripts. What is no prompt's id leads nowhere."""
    if not is_id("prm", prompt_id):
        return turned_away("No such page.", 404)
    words = (
        el("h1", None, "Sign in to answer"),
        el("p", None, "A prompt waits for your answer in this console, which shows it to your signed-in browser alone."),
        el(
            "p",
            None,
            "To sign in, open the link that ",
            el("code", None, "remit console"),
            " shows in your terminal; it works once, and Enter there shows another one. You are then brought to this prompt.",
        ),
        el("p", None, "Never open such a link, and type no code, that somebody else gave you."),
        el("p", {"class": "id", "id": "wanted", "data-prompt": prompt_id}, prompt_id),
    )
    files = (el("link", {"rel": "stylesheet", "href": "/static/console.css"}), el("script", {"src": "/static/prompt.js", "defer": True}))
    return _document("Sign in", files, None, words, None, 200)


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
    return _document(title, files, top, body, foot, status)


def _document(
    title: str, files: Iterable[Html], top: Html | None, body: Iterable[Child | Iterable[Child]], foot: Html | None, status: int
) -> HTMLResponse:
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
