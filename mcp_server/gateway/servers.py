"""The servers that people sign in to themselves, as a page of the console: which there are, and a sign-in and a sign-out for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mcp_server.gateway.answering import Answering, Sent
from mcp_server.gateway.entering import Entrance, reading, writing
from mcp_server.gateway.frame import TEAM_ROOMS
from mcp_server.gateway.html import Child, Html, el, said
from mcp_server.gateway.visits import Visit
from mcp_server.protocol.sign_in.given import NotGiven, Returned
from mcp_server.protocol.upstream.sign_ins import SignIns

ROOM = ("servers", "Servers")
INTRODUCTION = "Servers that know you by a sign-in of your own. Agents that work for you use it; nobody else's do."
LONGEST = 4096
"""Characters of anything that comes back with a browser."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where the navigation of a gateway's console leads: to this page where people sign in to any server."""

    signs: SignIns

    def __call__(self) -> tuple[tuple[str, str], ...]:
        return (*TEAM_ROOMS, ROOM) if self.signs.any else TEAM_ROOMS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersPage:
    """The page, and what its forms do."""

    entrance: Entrance
    answering: Answering
    signs: SignIns
    origin: str
    """That of the console's pages."""
    clock: Callable[[], float]

    def routes(self) -> list[Route]:
        """Below the door."""
        return [
            Route("/servers", reading(self.entrance, self._show), methods=["GET"]),
            Route("/servers/back", reading(self.entrance, self._back), methods=["GET"]),
            Route("/servers/{server}", writing(self.entrance, self.answering, self.clock, self._act), methods=["POST"]),
        ]

    async def _show(self, _request: Request, visit: Visit) -> Response:
        return await self._page(visit)

    async def _act(self, request: Request, visit: Visit, sent: Sent) -> Response:
        server, principal = str(request.path_params["server"]), visit.principal.key
        try:
            if sent.get("do") == ["sign-out"]:
                await self.signs.leave(principal, server)
                return RedirectResponse(f"/{self.entrance.door}/servers", 303)
            page = await self.signs.begin(principal, server, f"{self.origin}/{self.entrance.door}/servers/back")
        except NotGiven as error:
            return await self._page(visit, note=f"The sign-in could not be begun: {error}.", status=502)
        return self._leading(visit, server, page)

    async def _back(self, request: Request, visit: Visit) -> Response:
        query = {name: value[:LONGEST] for name, value in request.query_params.items()}
        try:
            await self.signs.end(visit.principal.key, query.get("state", ""), _returned(query))
        except NotGiven as error:
            return await self._page(visit, note=f"You are not signed in: {error}.", status=403)
        return RedirectResponse(f"/{self.entrance.door}/servers", 303)

    def _leading(self, visit: Visit, server: str, page: str) -> Response:
        """A form of this page's may not lead elsewhere, and people should see where they go."""
        host = urlsplit(page).hostname or ""
        words = el("p", None, "You sign in to ", said(server), " at ", el("strong", None, said(host)), ". You come back here afterwards.")
        link = el("p", None, el("a", {"href": page, "class": "button", "id": "onward", "rel": "noreferrer"}, "Go there"))
        return self.entrance.frame(visit).page("Sign in to a server", ROOM[0], el("h1", None, "Sign in to a server"), words, link)

    async def _page(self, visit: Visit, *, note: str = "", status: int = 200) -> Response:
        standing = await self.signs.standing(visit.principal.key)
        body: list[Child] = [
            el("h1", None, ROOM[1]),
            el("p", {"class": "note", "role": "status"}, said(note)) if note else None,
            el(
                "p",
                None,
                INTRODUCTION,
            ),
            *(self._card(visit, name, signed_in=signed_in) for name, signed_in in standing.items()),
            None if standing else el("p", None, "There is no such server."),
        ]
        return self.entrance.frame(visit).page(ROOM[1], ROOM[0], *body, status=status)

    def _card(self, visit: Visit, name: str, *, signed_in: bool) -> Html:
        deed, words = ("sign-out", "Sign out") if signed_in else ("sign-in", "Sign in")
        title = f"server-{name}"
        return el(
            "article",
            {"class": "card", "aria-labelledby": title},
            el("h2", {"id": title}, said(name)),
            el("p", {"class": "when"}, "You are signed in." if signed_in else "You are not signed in: its tools refuse your calls."),
            el(
                "form",
                {"method": "post", "action": f"/{self.entrance.door}/servers/{name}"},
                el("input", {"type": "hidden", "name": "key", "value": visit.form_key}),
                el("button", {"type": "submit", "name": "do", "value": deed, "aria-describedby": title}, words),
            ),
        )


def _returned(query: Mapping[str, str]) -> Returned:
    error = query.get("error", "")
    return Returned(code="" if error else query.get("code", ""), error=error, issuer=query.get("iss"))
