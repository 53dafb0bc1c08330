"""A gateway's console put together from its settings: who may come in, where they sign in, and the pages behind."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import ASGIApp

from mcp_server.gateway.authority import Authority
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.keys import KeyHolders
from mcp_server.gateway.oidc import signs_in_of
from mcp_server.gateway.servers import Rooms
from mcp_server.gateway.sign_in import Names, SignIn
from mcp_server.gateway.team_console import team_console
from mcp_server.principal import TokenPrincipal
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.memberships import hear, membership_in
from mcp_server.settings.gateway import Gateway
from mcp_server.store.protocol import Store


def console_of(
    gateway: Gateway,
    store: Store,
    authority: Authority,
    keys: KeyHolders,
    fetcher: Fetcher,
    rulebook: Rulebook,
    *,
    settled: Callable[[], Gateway | None],
    home: str,
    rooms: Rooms,
    steady: Callable[[], float] = time.monotonic,
    clock: Callable[[], float] = time.time,
) -> ASGIApp | None:
    """The application, for below the console's own path. None: settings want none.

    Args:
        gateway: The settings, as they were at the start.
        store: A handle of its own: what another handle commits is what wakes the server's runs.
        authority: Checks ID tokens.
        keys: Checks API keys.
        fetcher: Asks the issuer.
        rulebook: Says who somebody is, as settings are now.
        settled: The settings as they are now.
        home: What `$HOME` stands for in lines of shell.
        rooms: Where the navigation leads.
        steady: Seconds that only go forward.
        clock: Seconds since the epoch.

    Raises:
        ConfigError: The client's secret cannot be read.
    """
    url = gateway.console_url
    if url is None:
        return None

    async def may_come(principal: TokenPrincipal) -> bool:
        found = await membership_in(store, rulebook, principal.key)
        return found is not None and (found.member or bool(found.every_role))

    async def heard(principal: TokenPrincipal, claims: Mapping[str, Any]) -> None:
        now = settled()
        await hear(store, now, principal.key, claims, issued_at=float(claims["iat"]))

    async def revoked_at(principal: TokenPrincipal) -> float:
        return await store.revoked_at(principal.names) or 0.0

    entrance = SignIn(
        names=Names(url=url),
        oidc=signs_in_of(gateway, fetcher, authority, steady),
        keys=keys,
        may_come=may_come,
        heard=heard,
        revoked_at=revoked_at,
        rooms=rooms,
        clock=clock,
    )
    return team_console(entrance, store, rulebook, rooms, several=len(gateway.issuers) > 1, home=home, clock=clock)
