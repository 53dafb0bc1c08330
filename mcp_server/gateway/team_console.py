"""The console of a gateway: the same pages as on one machine, for people who have signed in, beside the address that clients are given."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from mcp_server.gateway.answering import Answering
from mcp_server.gateway.belongings import Belongings, belongings_of, with_roles
from mcp_server.gateway.guarding import Guarded
from mcp_server.gateway.oversight import Oversight
from mcp_server.gateway.pages import Pages
from mcp_server.gateway.servers import Rooms, ServersPage
from mcp_server.gateway.sign_in import SignIn
from mcp_server.gateway.visits import Visit
from mcp_server.principal import TokenPrincipal
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.memberships import membership_in
from mcp_server.store.protocol import Store


def team_console(
    entrance: SignIn, store: Store, rulebook: Rulebook, rooms: Rooms, *, several: bool, home: str, clock: Callable[[], float]
) -> ASGIApp:
    """The application, for below the console's own path. `several`: more than one issuer names people. `home`: what `$HOME` stands for in
    lines of shell.
    """

    async def whose(visit: Visit) -> Belongings:
        mine, by = await belongings_of(visit.principal, store), visit.principal
        membership = await membership_in(store, rulebook, by.key)
        if membership is None or not isinstance(by, TokenPrincipal):
            return mine
        claims = await store.everybodys_claims()
        seen = Oversight(store=store, rulebook=rulebook, by=by, membership=membership, claims=claims, several=several)
        return await with_roles(mine, seen)

    answering = Answering(store=store, principal="")
    pages = Pages(store=store, entrance=entrance, answering=answering, whose=whose, clock=clock, home=home)
    servers = ServersPage(
        entrance=entrance,
        answering=answering,
        whose=whose,
        servers=rooms.servers,
        signs=rooms.signs,
        origin=entrance.names.origin,
        clock=clock,
    )
    return Guarded(app=_app(entrance, pages, servers), hosts=None, origin=entrance.names.origin)


def _app(entrance: SignIn, pages: Pages, servers: ServersPage) -> ASGIApp:
    async def nowhere(_request: Request, _error: Exception) -> Response:
        return entrance.away("There is no such page.", 404)

    routes = [
        Route("/sign-in", entrance.page, methods=["GET"]),
        Route("/sign-in", entrance.by_key, methods=["POST"]),
        Route("/sign-in/start", entrance.start, methods=["GET"]),
        Route("/callback", entrance.back, methods=["GET"]),
        Route("/sign-out", entrance.leave, methods=["POST"]),
        *servers.routes(),
        *pages.routes(),
    ]
    app = Starlette(routes=routes, exception_handlers={404: nowhere, 405: nowhere})
    app.router.redirect_slashes = False
    return app
