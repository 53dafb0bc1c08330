"""Links of other servers that clients were given to open, up to 2025-11-25: a client is told once the server says that one is done with,
also when the call in which it was asked has ended.
"""

import anyio
import structlog
from mcp.server.session import ServerSession

from mcp_server.elicited import LinkAsked
from mcp_server.records import PromptId
from mcp_server.tools.news import News

log = structlog.get_logger("protocol")

MOST = 1000
"""At once, of all clients together; the oldest give way. Each is forgotten once it is told."""

SENDING = 1.0
"""Seconds for one notice. A connection whose client reads nothing must not keep the others waiting."""


class GivenLinks:
    """Of one process."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[ServerSession, PromptId]] = {}

    def give(self, link: LinkAsked, prompt_id: PromptId, session: ServerSession) -> None:
        """A client is given one, by that id."""
        if not link.ref:
            return
        while len(self._given) >= MOST:
            del self._given[next(iter(self._given))]
        self._given[link.ref] = (session, prompt_id)

    async def run(self, news: News) -> None:
        """Tell them, until cancelled."""
        while True:
            seen = news.total
            for ref in [ref for ref in self._given if news.finished(ref)]:
                await self._tell(*self._given.pop(ref))
            await news.after(seen)

    async def _tell(self, session: ServerSession, prompt_id: PromptId) -> None:
        with anyio.move_on_after(SENDING):
            try:
                await session.send_elicit_complete(prompt_id)
            except Exception as error:  # one connection's fault must not end the telling of the others
                log.info("a link could not be told as complete", exc_info=error)
