"""The console of a gateway: the same pages as on one machine, for people who have signed in, beside the address that clients are given."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from mcp_server.gateway.answering import Answering
from mcp_server.gateway.authority import Authority
from mcp_server.gateway.belongings import Belongings, belongings_of
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.guarding import Guarded
from mcp_server.gateway.keys import KeyHolders
from mcp_server.gateway.oidc import signs_in_of
from mcp_server.gateway.pages import Pages
from mcp_server.gateway.sign_in import Names, SignIn
from mcp_server.gateway.visits import Visit
from mcp_server.principal import TokenPrincipal
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.membership import claims_heard, membership_of
from mcp_server.store.protocol import Store


def team_console(
    gateway: Gateway,
    store: Store,
    authority: Authority,
    keys: KeyHolders,
    fetcher: Fetcher,
    *,
    home: str,
    steady: Callable[[], float] = time.monotonic,
    clock: Callable[[], float] = time.time,
) -> ASGIApp | None:
    """The application, for below the console's own path. None: settings want none.

    Args:
        gateway: The settings.
        store: A handle of its own: what another handle commits is what wakes the server's runs.
        authority: Checks ID tokens.
        keys: Checks API keys.
        fetcher: Asks the issuer.
        home: What `$HOME` stands for in lines of shell.
        steady: Seconds that only go forward.
        clock: Seconds since the epoch.

    Raises:
        ConfigError: The client's secret cannot be read.
    """
    url = gateway.console_url
    if url is None:
        return None

    def may_come(principal: TokenPrincipal, claims: Mapping[str, Any]) -> bool:
        found = membership_of(gateway, principal, claims)
        return found.member or bool(found.every_role)

    async def whose(visit: Visit) -> Belongings:
        return await belongings_of(visit.principal, store)

    entrance = SignIn(
        names=Names(url=url),
        oidc=signs_in_of(gateway, url, fetcher, authority, steady),
        keys=keys,
        may_come=may_come,
        kept=partial(claims_heard, gateway),
        clock=clock,
    )
    answering = Answering(store=store, principal="")
    pages = Pages(store=store, entrance=entrance, answering=answering, whose=whose, clock=clock, home=home)
    return Guarded(app=_app(entrance, pages), hosts=None, origin=entrance.names.origin)


def _app(entrance: SignIn, pages: Pages) -> ASGIApp:
    async def nowhere(_request: Request, _error: Exception) -> Response:
        return entrance.away("There is no such page.", 404)

    routes = [
        Route("/sign-in", entrance.page, methods=["GET"]),
        Route("/sign-in", entrance.by_key, methods=["POST"]),
        Route("/sign-in/start", entrance.start, methods=["GET"]),
        Route("/callback", entrance.back, methods=["GET"]),
        Route("/sign-out", entrance.leave, methods=["POST"]),
        *pages.routes(),
    ]
    app = Starlette(routes=routes, exception_handlers={404: nowhere, 405: nowhere})
    app.router.redirect_slashes = False
    return app
