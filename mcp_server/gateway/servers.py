"""The other MCP servers as a page of the console: how somebody's sessions found each last, and a sign-in where it knows people by one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mcp_server.errors import ConfigError
from mcp_server.gateway.answering import Answering, Sent
from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.entering import Entrance, reading, writing
from mcp_server.gateway.frame import TEAM_ROOMS
from mcp_server.gateway.html import Child, el, join, said
from mcp_server.gateway.server_cards import card
from mcp_server.gateway.visits import Visit
from mcp_server.protocol.sign_in.given import NotGiven, Returned
from mcp_server.protocol.upstream.seen import seen
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.settings.upstream import Upstream

ROOM = ("servers", "Servers")
INTRODUCTION = "The other MCP servers whose tools your agents may use, as they were found last."
SIGN_IN = "It knows you by a sign-in of your own. Agents that work for you use it; nobody else's do. "

Servers = Callable[[], Mapping[str, Upstream]]
"""Those that settings name now."""
LONGEST = 4096
"""Characters of anything that comes back with a browser."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where the navigation of a gateway's console leads: to this page where there are other servers."""

    signs: SignIns
    servers: Servers

    def __call__(self) -> tuple[tuple[str, str], ...]:
        return (*TEAM_ROOMS, ROOM) if self.signs.any or self.servers() else TEAM_ROOMS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersPage:
    """The page, and what its forms do."""

    entrance: Entrance
    answering: Answering
    whose: Callable[[Visit], Awaitable[Belongings]]
    servers: Servers
    signs: SignIns
    origin: str = ""
    """That of the console's pages. Needed where anybody signs in."""
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
        except (NotGiven, ConfigError) as error:
            return await self._page(visit, note=f"The sign-in could not be begun or ended: {error}.", status=502)
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
        mine = await self.whose(visit)
        try:
            servers, standing = self.servers(), await self.signs.standing(visit.principal.key)
        except ConfigError as error:
            servers, standing, note, status = dict[str, Upstream](), dict[str, bool](), str(error), 500
        found = [await seen(mine.store, mine.keys, name, config) for name, config in servers.items()]
        body: list[Child] = [
            el("h1", None, ROOM[1]),
            el("p", {"class": "note", "role": "status"}, said(note)) if note else None,
            el("p", None, INTRODUCTION),
            *(card(one, self._signing(visit, one.name, standing.get(one.name))) for one in found),
            None if found else el("p", None, "There are none: `mcpServers` in the settings names them."),
        ]
        return self.entrance.frame(visit).page(ROOM[1], ROOM[0], *body, status=status)

    def _signing(self, visit: Visit, name: str, signed_in: bool | None) -> Child:
        if signed_in is None:
            return None
        deed, words = ("sign-out", "Sign out") if signed_in else ("sign-in", "Sign in")
        stands = "You are signed in." if signed_in else "You are not signed in: its tools refuse your calls."
        return join(
            el("p", {"class": "when"}, SIGN_IN, stands),
            el(
                "form",
                {"method": "post", "action": f"/{self.entrance.door}/servers/{name}"},
                el("input", {"type": "hidden", "name": "key", "value": visit.form_key}),
                el("button", {"type": "submit", "name": "do", "value": deed, "aria-describedby": f"server-{name}"}, words),
            ),
        )


def _returned(query: Mapping[str, str]) -> Returned:
    error = query.get("error", "")
    return Returned(code="" if error else query.get("code", ""), error=error, issuer=query.get("iss"))
