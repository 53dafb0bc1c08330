"""Who the principals of sessions are at a gateway: by the settings as they are now, and by what their issuers said of them last."""

from collections.abc import Mapping
from typing import Any

from mcp_server.principal import LOCAL, principal_of
from mcp_server.sessions.book import Rulebook
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.membership import Membership, claims_heard
from mcp_server.store.protocol import Store


async def membership_in(store: Store, rulebook: Rulebook, principal: str) -> Membership | None:
    """Who a session's principal is, by what their issuer said of them last. None: the gateway's settings do not speak of them."""
    who = principal_of(principal)
    return None if who == LOCAL else rulebook.membership(who, await store.claims(principal))


async def hear(store: Store, gateway: Gateway | None, principal: str, claims: Mapping[str, Any], *, issued_at: float) -> None:
    """Keep what an issuer says of somebody, as far as the settings ask for it. See `People.keep_claims`."""
    await store.keep_claims(principal, {} if gateway is None else claims_heard(gateway, claims), issued_at=issued_at)
