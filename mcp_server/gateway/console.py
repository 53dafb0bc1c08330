"""The console: a person's inbox in a browser. Works on the store alone, whether or not a server runs.

What a page shows and a deed reaches goes by who came in with that very request's cookie.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from mcp_server.gateway.access import Access, Visit, same_key
from mcp_server.gateway.agents import AgentsPage
from mcp_server.gateway.answering import Answering, NotCounted, Sent
from mcp_server.gateway.audit import audit_page, download, search_of
from mcp_server.gateway.belongings import Belongings, belongings_of
from mcp_server.gateway.frame import outside, page, turned_away
from mcp_server.gateway.guarding import Guarded, names_of
from mcp_server.gateway.html import el
from mcp_server.gateway.inbox import Inbox, inbox_page, prompt_page
from mcp_server.gateway.rulings import revoke, rulings_page
from mcp_server.gateway.sessions import session_page, sessions_page
from mcp_server.store.protocol import Store

HOST = "127.0.0.1"
COOKIE = "remit_console"
STATIC = {"console.css": "text/css", "cards.js": "text/javascript", "console.js": "text/javascript", "prompt.js": "text/javascript"}
OUTSIDE = ("console.css", "prompt.js")
"""Those that a page outside the door needs."""
FILES = Path(__file__).parent / "static"

BODY_BYTES = 64 * 1024
"""Of one form: a few answers in own words fit."""

NO_LINK = "Open the link that `remit console` printed in your terminal. It works once; press Enter there for another one."
FORGED = "the form does not belong to this browser's visit"


@dataclass(slots=True, kw_only=True)
class Console:
    """The pages, and who may see them."""

    store: Store
    clock: Callable[[], float] = time.time
    home: str = ""
    rules: AgentsPage | None = None
    """The page of agents and rules; None: nobody reads them."""
    access: Access = field(init=False)
    answering: Answering = field(init=False)

    def __post_init__(self) -> None:
        self.access = Access(clock=self.clock)
        self.answering = Answering(store=self.store)

    @property
    def door(self) -> str:
        """The first part of every path."""
        return self.access.door

    def link(self, port: int) -> str:
        """A new link, good once."""
        return f"http://{HOST}:{port}/{self.door}/open?token={self.access.invite()}"

    def visit(self, request: Request) -> Visit | None:
        """Whose request it is."""
        return self.access.visit(request.cookies.get(COOKIE))

    def inbox_of(self, visit: Visit) -> Inbox:
        """The prompts of whoever came in."""
        return Inbox(store=self.store, principal=visit.principal, home=self.home, clock=self.clock)

    async def _of(self, visit: Visit) -> Belongings:
        return await belongings_of(visit.principal, self.store)

    # ---- pages ----------------------------------------------------------------------------------

    async def open(self, request: Request) -> Response:
        """Exchange a link's token for a cookie."""
        cookie = self.access.enter(request.query_params.get("token", ""))
        if cookie is None:
            return turned_away(NO_LINK)
        answer = RedirectResponse(f"/{self.door}/", 303)
        answer.set_cookie(COOKIE, cookie, path=f"/{self.door}/", httponly=True, samesite="strict")
        return answer

    async def show_inbox(self, _request: Request, visit: Visit) -> Response:
        """Every open prompt."""
        return page("Inbox", self.door, "", *await inbox_page(self.inbox_of(visit), self.door, visit.form_key))

    async def show_prompt(self, request: Request, visit: Visit) -> Response:
        """One prompt, open or over."""
        return await self._prompt_page(request.path_params["prompt_id"], visit)

    async def answer(self, request: Request, visit: Visit, sent: Sent) -> Response:
        """A person's answer; the browser is led to what has become of the prompt."""
        prompt_id: str = request.path_params["prompt_id"]
        mine = await self._of(visit)
        prompt = await mine.prompt(prompt_id)
        if prompt is None:
            await self.answering.refuse("there is no such prompt", at=self.clock(), ref=prompt_id, by=mine.by)
            return await self._prompt_page(prompt_id, visit)
        refused = await self.answering.answer(prompt, sent, by=mine.by, at=self.clock())
        if isinstance(refused, NotCounted):
            return await self._prompt_page(prompt_id, visit, note=f"Your answer did not count: {refused.reason}.", status=409)
        return RedirectResponse(f"/{self.door}/prompts/{prompt_id}", 303)

    async def show_sessions(self, request: Request, visit: Visit) -> Response:
        """Who works."""
        finished = "all" in request.query_params
        body = await sessions_page(await self._of(visit), self.door, finished=finished, now=self.clock())
        return page("Sessions", self.door, "sessions", *body)

    async def show_session(self, request: Request, visit: Visit) -> Response:
        """One transcript."""
        body = await session_page(await self._of(visit), self.door, request.path_params["session_id"])
        if body is None:
            return page("No such session", self.door, "sessions", el("h1", None, "No such session"), status=404)
        return page("Session", self.door, "sessions", *body)

    async def show_rulings(self, _request: Request, visit: Visit) -> Response:
        """What stands."""
        return await self._rulings_page(visit)

    async def revoke(self, request: Request, visit: Visit, _sent: Sent) -> Response:
        """Take a ruling back."""
        if not await revoke(await self._of(visit), request.path_params["ruling_id"], now=self.clock()):
            return await self._rulings_page(visit, note="It did not stand any more; nothing was changed.", status=409)
        return RedirectResponse(f"/{self.door}/rulings", 303)

    async def _rulings_page(self, visit: Visit, *, note: str = "", status: int = 200) -> HTMLResponse:
        body = await rulings_page(await self._of(visit), self.door, visit.form_key, now=self.clock(), note=note)
        return page("Rulings", self.door, "rulings", *body, status=status)

    async def show_audit(self, request: Request, visit: Visit) -> Response:
        """What happened, through filters."""
        body = await audit_page(await self._of(visit), self.door, search_of(request.query_params, now=self.clock()))
        return page("Audit", self.door, "audit", *body)

    async def export_audit(self, request: Request, visit: Visit) -> Response:
        """All of what happened that the filters select, as a file."""
        return download(await self._of(visit), request.query_params, now=self.clock())

    async def show_agents(self, request: Request, visit: Visit) -> Response:
        """Who there is, and what would happen."""
        if self.rules is None:
            return page("No such page", self.door, "agents", el("h1", None, "Nobody reads agents here"), status=404)
        body = await self.rules.body(await self._of(visit), request.query_params)
        return page("Agents", self.door, "agents", *body)

    async def _prompt_page(self, prompt_id: str, visit: Visit, *, note: str = "", status: int = 200) -> HTMLResponse:
        prompt = await (await self._of(visit)).prompt(prompt_id)
        back = el("p", None, el("a", {"href": f"/{self.door}/"}, "Back to the inbox"))
        if prompt is None:
            return page("No such prompt", self.door, "", el("h1", None, "No such prompt"), back, status=404)
        body = await prompt_page(self.inbox_of(visit), prompt, self.door, visit.form_key, note=note)
        return page("Prompt", self.door, "", *body, back, status=status)

    async def lead(self, request: Request) -> Response:
        """Where a link to a prompt leads, outside the door: the same page for everybody, which says how to sign in. It knows nobody and
        nothing; its script leads a browser that has signed in to the prompt.
        """
        return outside(request.path_params["prompt_id"])

    async def events(self, request: Request, visit: Visit) -> Response:
        """What is open, live."""
        return StreamingResponse(self.inbox_of(visit).happenings(lambda: self.visit(request) is not None), media_type="text/event-stream")

    async def file(self, request: Request) -> Response:
        """Style and script; no secret is in them."""
        name: str = request.path_params["name"]
        if name not in STATIC:
            return turned_away("No such page.", 404)
        return FileResponse(FILES / name, media_type=STATIC[name])

    async def file_outside(self, request: Request) -> Response:
        """Likewise, for the page that a link leads to."""
        return await self.file(request) if request.path_params["name"] in OUTSIDE else turned_away("No such page.", 404)

    # ---- the way in -----------------------------------------------------------------------------

    def reading(self, show: Callable[[Request, Visit], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """A page for those who came in by a link."""

        async def shown(request: Request) -> Response:
            visit = self.visit(request)
            return turned_away(NO_LINK) if visit is None else await show(request, visit)

        return shown

    def writing(self, act: Callable[[Request, Visit, Sent], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """A deed of theirs: their own form's, and of a size that a form has."""

        async def done(request: Request) -> Response:
            visit = self.visit(request)
            ref = str(next(iter(request.path_params.values()), ""))
            if visit is None:
                await self.answering.refuse("it came from nobody who opened a link", at=self.clock(), ref=ref)
                return turned_away(NO_LINK)
            sent = await _form(request)
            if sent is None:
                return turned_away("That is no form of the console's.", 400)
            if len(sent.get("key", ())) != 1 or not same_key(visit, sent["key"][0]):
                await self.answering.refuse(FORGED, at=self.clock(), ref=ref, whose=visit.principal.key)
                return turned_away("This form is not of your visit. Load the page again.")
            return await act(request, visit, sent)

        return done


async def _form(request: Request) -> Mapping[str, list[str]] | None:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            return None
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=200)
    except ValueError:
        return None


def console_app(console: Console, *, port: int) -> ASGIApp:
    """The ASGI application, for this port of loopback."""

    async def nowhere(_request: Request, _error: Exception) -> Response:
        return turned_away(NO_LINK, 404)

    routes = [
        Route("/open", console.open),
        Route("/static/{name}", console.file),
        Route("/", console.reading(console.show_inbox)),
        Route("/events", console.reading(console.events)),
        Route("/prompts/{prompt_id}", console.reading(console.show_prompt), methods=["GET"]),
        Route("/prompts/{prompt_id}", console.writing(console.answer), methods=["POST"]),
        Route("/sessions", console.reading(console.show_sessions)),
        Route("/sessions/{session_id}", console.reading(console.show_session)),
        Route("/rulings", console.reading(console.show_rulings)),
        Route("/rulings/{ruling_id}", console.writing(console.revoke), methods=["POST"]),
        Route("/agents", console.reading(console.show_agents)),
        Route("/audit", console.reading(console.show_audit)),
        Route("/audit/export", console.reading(console.export_audit)),
    ]
    leading = [Route("/prompts/{prompt_id}", console.lead), Route("/static/{name}", console.file_outside)]
    app = Starlette(routes=[Mount(f"/{console.door}", routes=routes), *leading], exception_handlers={404: nowhere})
    return Guarded(app=app, hosts=names_of(port))
