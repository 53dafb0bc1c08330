"""What somebody had at a gateway counts no more once an operator says so: no token from before, no visit, no connection."""

from mcp_server.gateway.door import Verifies
from mcp_server.gateway.jose import LEEWAY
from mcp_server.gateway.verified import Refused, Verified
from mcp_server.principal import API_KEYS
from mcp_server.store.protocol import Store


class Standing:
    """Checks tokens as another does, and that they were not revoked since, by whatever process: asked anew at every request."""

    def __init__(self, authority: Verifies, store: Store) -> None:
        self._authority = authority
        self._store = store

    async def verify(self, token: str) -> Verified:
        """Whose it is.

        Raises:
            Refused: It does not count, or not any more.
        """
        verified = await self._authority.verify(token)
        # A key has an end of its own, and no issuer who would give its holder another.
        if verified.principal.issuer == API_KEYS:
            return verified
        at = await self._store.revoked_at(verified.principal.names)
        if at is not None and verified.issued_at <= at + LEEWAY:
            raise Refused("it was issued before everything of its holder's was revoked, or too soon after to tell")
        return verified
