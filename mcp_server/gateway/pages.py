"""The pages of a console, for one visit at a time: what each shows and what a form reaches goes by who came in with that very request.

Works on the store alone, whether or not a server runs. How browsers come in is the entrance's.
"""

import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from mcp_server.gateway.agents import AgentsPage
from mcp_server.gateway.answering import Answering, NotCounted, Sent
from mcp_server.gateway.audit import audit_page, download, search_of
from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.entering import Entrance, reading, writing
from mcp_server.gateway.frame import turned_away
from mcp_server.gateway.html import el
from mcp_server.gateway.inbox import Inbox, inbox_page, prompt_page
from mcp_server.gateway.rulings import revoke, rulings_page
from mcp_server.gateway.sessions import end, session_page, sessions_page
from mcp_server.gateway.visits import Visit
from mcp_server.store.protocol import Store

STATIC = {"console.css": "text/css", "cards.js": "text/javascript", "console.js": "text/javascript", "prompt.js": "text/javascript"}
FILES = Path(__file__).parent / "static"

NOT_THEIRS = "it is somebody else's to answer"

MOST_STREAMS = 20
"""Of one browser at once. Each asks the store five times a second."""

Handler = Callable[[Request], Awaitable[Response]]
Show = Callable[[Request, Visit], Awaitable[Response]]
Act = Callable[[Request, Visit, Sent], Awaitable[Response]]


@dataclass(slots=True, kw_only=True)
class Pages:
    """All of them, behind one entrance."""

    store: Store
    entrance: Entrance
    answering: Answering
    whose: Callable[[Visit], Awaitable[Belongings]]
    """What may be seen and done in a visit."""
    clock: Callable[[], float] = time.time
    home: str = ""
    rules: AgentsPage | None = None
    """The page of agents and rules; None: nobody reads them."""
    _streams: Counter[str] = field(default_factory=Counter[str])
    """How many are open, by the visit's name."""

    def routes(self) -> list[Route]:
        """Below the door."""
        return [
            Route("/static/{name}", file),
            Route("/", self._reading(self.show_inbox)),
            Route("/events", self.events),
            Route("/prompts/{prompt_id}", self._reading(self.show_prompt), methods=["GET"]),
            Route("/prompts/{prompt_id}", self._writing(self.answer), methods=["POST"]),
            Route("/sessions", self._reading(self.show_sessions)),
            Route("/sessions/{session_id}", self._reading(self.show_session)),
            Route("/sessions/{session_id}/end", self._writing(self.end), methods=["POST"]),
            Route("/rulings", self._reading(self.show_rulings)),
            Route("/rulings/{ruling_id}", self._writing(self.revoke), methods=["POST"]),
            Route("/agents", self._reading(self.show_agents)),
            Route("/audit", self._reading(self.show_audit)),
            Route("/audit/export", self._reading(self.export_audit)),
        ]

    def _reading(self, show: Show) -> Handler:
        return reading(self.entrance, show)

    def _writing(self, act: Act) -> Handler:
        return writing(self.entrance, self.answering, self.clock, act)

    def inbox_of(self, visit: Visit) -> Inbox:
        """The prompts of whoever came in."""
        return Inbox(store=self.store, whose=partial(self.whose, visit), home=self.home, clock=self.clock)

    # ---- pages ----------------------------------------------------------------------------------

    async def show_inbox(self, _request: Request, visit: Visit) -> Response:
        """Every open prompt."""
        return self.entrance.frame(visit).page("Inbox", "", *await inbox_page(self.inbox_of(visit), self.entrance.door, visit.form_key))

    async def show_prompt(self, request: Request, visit: Visit) -> Response:
        """One prompt, open or over."""
        return await self._prompt_page(request.path_params["prompt_id"], visit)

    async def answer(self, request: Request, visit: Visit, sent: Sent) -> Response:
        """A person's answer; the browser is led to what has become of the prompt."""
        prompt_id: str = request.path_params["prompt_id"]
        mine = await self.whose(visit)
        prompt = await mine.prompt(prompt_id)
        if prompt is None:
            await self.answering.refuse("there is no such prompt", at=self.clock(), ref=prompt_id, by=mine.by)
            return await self._prompt_page(prompt_id, visit)
        roles = mine.answers_as(prompt)
        if not roles and not mine.is_own(prompt.principal):
            await self.answering.refuse(NOT_THEIRS, at=self.clock(), prompt=prompt, by=mine.by)
            return await self._prompt_page(prompt_id, visit, note="Your answer did not count: it is somebody else's to give.", status=403)
        refused = await self.answering.answer(prompt, sent, by=mine.by, at=self.clock(), roles=roles)
        if isinstance(refused, NotCounted):
            return await self._prompt_page(prompt_id, visit, note=f"Your answer did not count: {refused.reason}.", status=409)
        return RedirectResponse(f"/{self.entrance.door}/prompts/{prompt_id}", 303)

    async def show_sessions(self, request: Request, visit: Visit) -> Response:
        """Who works."""
        finished = "all" in request.query_params
        mine = await self.whose(visit)
        await mine.tell(self.clock(), "the sessions of others", others=mine.listed)
        body = await sessions_page(mine, self.entrance.door, finished=finished, now=self.clock())
        return self.entrance.frame(visit).page("Sessions", "sessions", *body)

    async def show_session(self, request: Request, visit: Visit) -> Response:
        """One transcript."""
        return await self._session_page(request.path_params["session_id"], visit)

    async def _session_page(self, session_id: str, visit: Visit, *, note: str = "", status: int = 200) -> Response:
        mine, door = await self.whose(visit), self.entrance.door
        body = await session_page(mine, door, session_id, explained=self.rules is not None, form_key=visit.form_key, note=note)
        if body is None:
            return self.entrance.frame(visit).page("No such session", "sessions", el("h1", None, "No such session"), status=404)
        if (session := await mine.session(session_id)) is not None:
            await mine.tell(self.clock(), "a session of somebody else", others=(session.principal,), ref=session_id)
        return self.entrance.frame(visit).page("Session", "sessions", *body, status=status)

    async def end(self, request: Request, visit: Visit, sent: Sent) -> Response:
        """End a run or a session; the browser is led to what has become of it."""
        mine, session_id = await self.whose(visit), request.path_params["session_id"]
        session = await mine.session(session_id)
        if session is not None and not mine.may_end(session):
            return await self._session_page(session_id, visit, note="It is not yours to end.", status=403)
        wrong = "" if session is None else await end(mine, session, next(iter(sent.get("what", ())), ""), now=self.clock())
        if session is None or wrong:
            return await self._session_page(session_id, visit, note=wrong, status=409)
        return RedirectResponse(f"/{self.entrance.door}/sessions/{session_id}", 303)

    async def show_rulings(self, _request: Request, visit: Visit) -> Response:
        """What stands."""
        return await self._rulings_page(visit)

    async def revoke(self, request: Request, visit: Visit, _sent: Sent) -> Response:
        """Take a ruling back."""
        if not await revoke(await self.whose(visit), request.path_params["ruling_id"], now=self.clock()):
            return await self._rulings_page(visit, note="It did not stand any more; nothing was changed.", status=409)
        return RedirectResponse(f"/{self.entrance.door}/rulings", 303)

    async def _rulings_page(self, visit: Visit, *, note: str = "", status: int = 200) -> HTMLResponse:
        mine = await self.whose(visit)
        await mine.tell(self.clock(), "the rulings of others", others=mine.read)
        body = await rulings_page(mine, self.entrance.door, visit.form_key, now=self.clock(), note=note)
        return self.entrance.frame(visit).page("Rulings", "rulings", *body, status=status)

    async def show_audit(self, request: Request, visit: Visit) -> Response:
        """What happened, through filters."""
        mine = await self.whose(visit)
        await mine.tell(self.clock(), "the audit of others", others=mine.read)
        body = await audit_page(mine, self.entrance.door, search_of(request.query_params, now=self.clock()))
        return self.entrance.frame(visit).page("Audit", "audit", *body)

    async def export_audit(self, request: Request, visit: Visit) -> Response:
        """All of what happened that the filters select, as a file."""
        mine = await self.whose(visit)
        await mine.tell(self.clock(), "the audit of others, as a file", others=mine.read)
        return download(mine, request.query_params, now=self.clock())

    async def show_agents(self, request: Request, visit: Visit) -> Response:
        """Who there is, and what would happen."""
        if self.rules is None:
            return self.entrance.frame(visit).page("No such page", "agents", el("h1", None, "Nobody reads agents here"), status=404)
        body = await self.rules.body(await self.whose(visit), request.query_params)
        return self.entrance.frame(visit).page("Agents", "agents", *body)

    async def _prompt_page(self, prompt_id: str, visit: Visit, *, note: str = "", status: int = 200) -> HTMLResponse:
        mine = await self.whose(visit)
        prompt = await mine.prompt(prompt_id)
        back = el("p", None, el("a", {"href": f"/{self.entrance.door}/"}, "Back to the inbox"))
        if prompt is None:
            return self.entrance.frame(visit).page("No such prompt", "", el("h1", None, "No such prompt"), back, status=404)
        if not mine.answers_as(prompt):
            await mine.tell(self.clock(), "a prompt of somebody else", others=(prompt.principal,), ref=prompt_id)
        body = await prompt_page(self.inbox_of(visit), prompt, self.entrance.door, visit.form_key, note=note)
        return self.entrance.frame(visit).page("Prompt", "", *body, back, status=status)

    async def events(self, request: Request) -> Response:
        """What is open, live. A stream that is open keeps no visit alive: it may stand in a browser that everybody has left."""
        visit = await self.entrance.visit(request, renews=False)
        if visit is None:
            return self.entrance.stranger(request)

        if self._streams[visit.name] >= MOST_STREAMS:
            return self.entrance.away("Too many windows of this browser are live. Close one.", 429)

        async def still_in() -> bool:
            return await self.entrance.visit(request, renews=False) is not None

        async def told() -> AsyncGenerator[str]:
            self._streams[visit.name] += 1
            try:
                async with aclosing(self.inbox_of(visit).happenings(still_in)) as happenings:
                    async for one in happenings:
                        yield one
            finally:
                self._streams[visit.name] -= 1
                if not self._streams[visit.name]:
                    del self._streams[visit.name]

        return StreamingResponse(told(), media_type="text/event-stream")


async def file(request: Request) -> Response:
    """Style and script; no secret is in them."""
    name: str = request.path_params["name"]
    if name not in STATIC:
        return turned_away("No such page.", 404)
    return FileResponse(FILES / name, media_type=STATIC[name])
