"""The console on this machine: its user's inbox in a browser, opened by a link that only their terminal shows."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from mcp_server.gateway.access import Access
from mcp_server.gateway.agents import AgentsPage
from mcp_server.gateway.answering import Answering
from mcp_server.gateway.belongings import Belongings, belongings_of
from mcp_server.gateway.frame import ROOMS, Frame, outside, turned_away
from mcp_server.gateway.guarding import Guarded, names_of
from mcp_server.gateway.pages import Pages, file
from mcp_server.gateway.servers import ROOM as SERVERS
from mcp_server.gateway.servers import Servers, ServersPage
from mcp_server.gateway.visits import Visit
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.store.protocol import Store

HOST = "127.0.0.1"
COOKIE = "remit_console"
OUTSIDE = ("console.css", "prompt.js")
"""The files that a page outside the door needs."""

NO_LINK = "Open the link that `remit console` printed in your terminal. It works once; press Enter there for another one."
FOOT = "This page belongs to the browser that opened the link in your terminal."


@dataclass(slots=True, kw_only=True)
class Console:
    """The pages, and who may see them. An `Entrance`."""

    store: Store
    clock: Callable[[], float] = time.time
    home: str = ""
    rules: AgentsPage | None = None
    """The page of agents and rules; None: nobody reads them."""
    servers: Servers = dict
    """The other servers, as settings name them now."""
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

    async def visit(self, request: Request, *, renews: bool) -> Visit | None:
        """Whose request it is."""
        return self.access.visit(request.cookies.get(COOKIE), renews=renews)

    def stranger(self, request: Request) -> Response:
        """How to come in."""
        return turned_away(NO_LINK)

    def away(self, words: str, status: int) -> Response:
        """Why nothing was done."""
        return turned_away(words, status)

    def frame(self, visit: Visit) -> Frame:
        """What stands around every page."""
        return Frame(door=self.door, foot=FOOT, rooms=(*ROOMS, SERVERS))

    async def whose(self, visit: Visit) -> Belongings:
        """What may be seen in a visit: what is theirs."""
        return await belongings_of(visit.principal, self.store)

    async def open(self, request: Request) -> Response:
        """Exchange a link's token for a cookie."""
        cookie = self.access.enter(request.query_params.get("token", ""))
        if cookie is None:
            return turned_away(NO_LINK)
        answer = RedirectResponse(f"/{self.door}/", 303)
        answer.set_cookie(COOKIE, cookie, path=f"/{self.door}/", httponly=True, samesite="strict")
        return answer

    async def lead(self, request: Request) -> Response:
        """Where a link to a prompt leads, outside the door: the same page for everybody, which says how to sign in. It knows nobody and
        nothing; its script leads a browser that has signed in to the prompt.
        """
        return outside(request.path_params["prompt_id"])

    async def file_outside(self, request: Request) -> Response:
        """A file for the page that a link leads to."""
        return await file(request) if request.path_params["name"] in OUTSIDE else turned_away("No such page.", 404)


def console_app(console: Console, *, port: int) -> ASGIApp:
    """The ASGI application, for this port of loopback."""

    async def nowhere(_request: Request, _error: Exception) -> Response:
        return turned_away(NO_LINK, 404)

    pages = Pages(
        store=console.store,
        entrance=console,
        whose=console.whose,
        answering=console.answering,
        clock=console.clock,
        home=console.home,
        rules=console.rules,
    )
    # People sign in to other servers with a command here: this page only tells how they were found.
    servers = ServersPage(
        entrance=console,
        answering=console.answering,
        whose=console.whose,
        servers=console.servers,
        signs=SignIns(dict),
        clock=console.clock,
    )
    inside = Mount(f"/{console.door}", routes=[Route("/open", console.open), *servers.routes(), *pages.routes()])
    leading = [Route("/prompts/{prompt_id}", console.lead), Route("/static/{name}", console.file_outside)]
    app = Starlette(routes=[inside, *leading], exception_handlers={404: nowhere})
    return Guarded(app=app, hosts=names_of(port))
