"""Sees that somebody ended a root session that this process serves: its client's calls end with it, its lines in the background,
and the other servers that were started for it.
"""

import structlog

from mcp_server.errors import ToolFailure
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.callbook import CallBook
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.roots import Roots
from mcp_server.store.polling import poll

log = structlog.get_logger(__name__)

POLL = 0.2
"""Seconds between two looks at the store's change number, as for runs."""


class SessionEnded(ToolFailure):
    """Somebody ended the session while its call went on."""

    def __init__(self, by: str) -> None:
        super().__init__(f"this session was ended by {by}; what it did is over, and the next call begins another")


class EndedElsewhere:
    """Polls one store for one server's calls."""

    def __init__(self, deployment: Deployment, book: CallBook) -> None:
        self._deployment = deployment
        self._book = book
        self._roots = Roots(deployment)
        self._seen = -1

    async def run(self) -> None:
        """Until cancelled. A store that cannot be read is logged and looked at again."""
        await poll(self._look, every=POLL)

    async def _look(self) -> None:
        changed = await self._deployment.store.changed_elsewhere()
        if changed == self._seen:
            return
        for root_id in {*self._book.roots, *map(SessionId, self._deployment.upstreams.roots)}:
            if by := await self._roots.ended_by(root_id):
                self._book.end(root_id, SessionEnded(by))
                self._deployment.upstreams.left(root_id)
        for session_id in self._deployment.background.owners:
            chain = await self._deployment.store.chain(session_id)
            if chain and await self._roots.ended_by(chain[0].id):
                self._deployment.background.end(session_id)
        self._seen = changed
