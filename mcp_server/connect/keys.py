"""Credentials that need no sign-in: an API key, as machines have one."""

import httpx2

from mcp_server.connect.reaching import Failed


class Key:
    """One key, sent with each request."""

    def __init__(self, key: str) -> None:
        self._key = key

    async def token(self) -> str | None:
        """The key."""
        return self._key

    async def renewed(self, sent: str | None, answer: httpx2.Response, *, ask: bool) -> bool:
        """Never.

        Raises:
            Failed: The key does not count.
        """
        if answer.status_code == 401:
            raise Failed("the server does not take this API key; ask its operator for another one")
        return False
