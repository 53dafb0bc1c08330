"""Who the principals of sessions are at a gateway: by the settings as they are now, and by what their issuers said of them last."""

from mcp_server.principal import LOCAL, principal_of
from mcp_server.sessions.book import Rulebook
from mcp_server.settings.membership import Membership
from mcp_server.store.protocol import Store


async def membership_in(store: Store, rulebook: Rulebook, principal: str) -> Membership | None:
    """Who a session's principal is, by what their issuer said of them last. None: the gateway's settings do not speak of them."""
    who = principal_of(principal)
    return None if who == LOCAL else rulebook.membership(who, await store.claims(principal))
