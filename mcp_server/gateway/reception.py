"""From a verified token and an address to who is calling, where, and as what: the last step before the application.

The address selects the caller's root: the gateway's own is the default workspace and agent, `/WORKSPACE/AGENT` below it another one.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.gateway.seen import seen_of
from mcp_server.gateway.verified import VERIFIED, Verified
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.front import Caller
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.membership import Membership, claims_heard
from mcp_server.settings.teams import DEFAULT_WORKSPACE
from mcp_server.store.protocol import Store

log = structlog.get_logger("gateway")

RECEIVED = "remit.caller"
"""The key in an ASGI scope under which a `Caller` stands."""

NOT_A_MEMBER = "You are known here, and not among those who may use this gateway. Ask who runs it."

NOTHING_HERE = "There is nothing for you at this address. Use the gateway's own, or one that you were given."
"""For a workspace or an agent that is not there, and for one that is not theirs."""

MOST_REMEMBERED = 10_000
"""Callers whose claims this process knows to be stored. The one silent longest gives way, and is written once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """Somebody who is not served here, and what they are told."""

    status: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """Receives whoever came through the door."""

    store: Store
    rulebook: Rulebook
    gateway: Callable[[], Gateway | None]
    """The settings as they are now."""
    usual: tuple[str, str]
    """The default workspace's path, and the agent that clients call as."""
    workspaces: Mapping[str, str]
    """The others' paths by their names."""
    remembered: "OrderedDict[str, tuple[str, float]]" = field(default_factory=OrderedDict[str, tuple[str, float]])

    async def receive(self, verified: Verified, below: str) -> Caller | Turned:
        """Who it is. `below`: what follows the gateway's own address in the request's."""
        gateway = self.gateway()
        if gateway is None:
            return Turned(status=403, words=NOT_A_MEMBER)
        heard = claims_heard(gateway, verified.claims)
        membership = await self._membership(verified, heard)
        if membership is None or not membership.member:
            log.warning("somebody who is no member was turned away", principal=verified.principal.key)
            return Turned(status=403, words=NOT_A_MEMBER)
        place = self._place(below, membership)
        if place is None:
            return Turned(status=404, words=NOTHING_HERE)
        return Caller(principal=verified.principal, workspace=place[0], agent=place[1], membership=membership)

    async def _membership(self, verified: Verified, heard: Mapping[str, object]) -> Membership | None:
        """By what was said of them last: an older token that still counts says what does not hold any more."""
        key, said = verified.principal.key, (json.dumps(dict(heard), sort_keys=True), verified.issued_at)
        if verified.claims:
            if self.remembered.get(key) != said:
                await self.store.keep_claims(key, heard, issued_at=verified.issued_at)
                self.remembered[key] = said
            self.remembered.move_to_end(key)
            while len(self.remembered) > MOST_REMEMBERED:
                self.remembered.popitem(last=False)
        return self.rulebook.membership(verified.principal, await self.store.claims(key))

    def _place(self, below: str, membership: Membership) -> tuple[str, str] | None:
        """Workspace and agent. None: they are not there, or not this caller's."""
        parts = [part for part in below.split("/") if part] if below else []
        if len(parts) not in (0, 2):
            return None
        name, agent = (DEFAULT_WORKSPACE, self.usual[1]) if not parts else (parts[0], parts[1])
        if membership.workspaces is not None and name not in membership.workspaces:
            return None
        workspace = self.usual[0] if name == DEFAULT_WORKSPACE else self.workspaces.get(name)
        if workspace is None or not self._may_stand(workspace, agent, membership):
            return None
        return workspace, agent

    def _may_stand(self, workspace: str, agent: str, membership: Membership) -> bool:
        """May clients call as this agent, and this one?"""
        found = self.rulebook.definitions(workspace).get(agent)
        if found is None or found.hidden or found.mode == "subagent":
            return False
        return agent == self.usual[1] or membership.agents is None or agent in membership.agents


class Received:
    """An application that is told who is calling. Stands behind the door, which has put a `Verified` into the scope."""

    def __init__(self, app: ASGIApp, reception: Reception, path: str) -> None:
        """`path`: of the gateway's own address, and the one path that `app` serves."""
        self._app = app
        self._reception = reception
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        caller = await self._caller(scope, scope[VERIFIED])
        if isinstance(caller, Turned):
            body = {"error": "access_denied" if caller.status == 403 else "not_found", "error_description": caller.words}
            await JSONResponse(body, caller.status)(scope, receive, send)
            return
        if caller.membership is not None:
            seen_of(scope).teams = caller.membership.teams
        await self._app({**scope, RECEIVED: caller, "path": self._path, "raw_path": self._path.encode()}, receive, send)

    async def receives(self, scope: Scope, verified: Verified) -> bool:
        """See `Receives`."""
        return isinstance(await self._caller(scope, verified), Caller)

    async def _caller(self, scope: Scope, verified: Verified) -> Caller | Turned:
        return await self._reception.receive(verified, scope["path"].removeprefix(self._path))
