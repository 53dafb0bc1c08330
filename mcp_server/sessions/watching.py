"""Resources of other MCP servers that a client watches: whether it may be told that one has changed. What it holds then is to be read.

News is told only where the rules let the resource be read without asking anybody: that it changes is a part of what it holds.
"""

from mcp_server.errors import StoreError, ToolFailure
from mcp_server.policy.explain import sentence
from mcp_server.policy.values import Action
from mcp_server.policy.wildcards import listed
from mcp_server.records import SessionRecord
from mcp_server.sessions.clientcalls import new_call
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.looking import Look, look_at
from mcp_server.sessions.toolset.foreign import whose_of
from mcp_server.sessions.toolset.shelves import reading_request
from mcp_server.tools.shelves import Watched

ASKS = "rules ask a person before it is read, and news is told only of what may be read without asking"


class OneWatch:
    """See `Watch`: one resource, for one root session."""

    def __init__(self, deployment: Deployment, root: SessionRecord, tool: str, server: str, own: str) -> None:
        """`tool`: what it would be read by."""
        self._deployment = deployment
        self._root = root
        self._server = server
        self._own = own
        self._call = new_call(root, tool, {"uri": own, "watch": True}).call
        self._requests = (reading_request(server, own),)
        self._watched: Watched | None = None
        self._seen = 0

    async def begin(self) -> None:
        """Have news of it, as far as rules allow. The audit has what they said.

        Raises:
            ToolFailure: There will be none.
        """
        seen = await self._look()
        verdict = seen.verdict(self._requests, by_ownership=False)
        await self._deployment.store.audit((seen.decision(self._call, verdict),))
        if verdict.action is not Action.ALLOW:
            raise ToolFailure(ASKS if verdict.action is Action.ASK else sentence(verdict, seen.authority.mode))
        self._watched = await self._deployment.upstreams.shelves.watch(whose_of(self._root), self._server, self._own)
        self._seen = self._watched.changes

    async def changed(self) -> bool:
        if self._watched is None or self._watched.changes == self._seen:
            return False
        self._seen = self._watched.changes
        try:
            seen = await self._look()
        except (StoreError, ToolFailure):
            return False
        return seen.verdict(self._requests, by_ownership=False).action is Action.ALLOW

    def end(self) -> None:
        if self._watched is not None:
            self._watched.end()

    async def _look(self) -> Look:
        """At the rules as they are now."""
        seen = await look_at(self._deployment, self._root, self._call, ())
        definition = seen.standing.definition
        if definition is not None and definition.tools is not None and not listed(self._call.tool, definition.tools):
            raise ToolFailure(f"{self._root.agent} reads no resources of `{self._server}`")
        return seen
