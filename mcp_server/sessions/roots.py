"""Root sessions: one a connection, or one a caller where connections do not last."""

from dataclasses import replace

from mcp_server.policy.values import Action, Reach
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import SessionRecord
from mcp_server.sessions import events
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller
from mcp_server.sessions.lookups import same_caller
from mcp_server.store.ids import mint
from mcp_server.store.protocol import ENDED_BY

MOST = 1000
"""Roots of one caller that are looked through: some years of a client that connects every day."""

USED = "used"
"""The state key under which a shared root notes when it was last used."""


def root_of(deployment: Deployment, caller: Caller, session_id: SessionId, *, shared: bool) -> SessionRecord:
    """The root that the caller would get now. Stores nothing."""
    return SessionRecord(
        id=session_id,
        principal=caller.principal.key,
        workspace=caller.workspace,
        agent=caller.agent,
        root_id=session_id,
        parent_id=None,
        depth=0,
        root_agent=caller.agent,
        shared=shared,
        mode=deployment.rulebook.root_mode(caller.agent),
        started_with=deployment.rulebook.command_line(),
        narrowed=deployment.tools,
        created_at=deployment.clock(),
    )


class Roots:
    """Opens, finds again and ends roots."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    async def open(self, caller: Caller, *, shared: bool) -> SessionRecord:
        """The caller's shared root, or a new one of its own."""
        if shared:
            found = await self._standing(caller)
            if found is not None:
                return found
        return await self._new(caller, shared=shared)

    async def _new(self, caller: Caller, *, shared: bool) -> SessionRecord:
        root = root_of(self._deployment, caller, SessionId(mint("ses")), shared=shared)
        now = root.created_at
        await self._deployment.store.add_session(root)
        await self._deployment.store.audit((events.rooted(now, root, "opened"),))
        await self._touch(root, now)
        return root

    async def _standing(self, caller: Caller) -> SessionRecord | None:
        now, limits = self._deployment.clock(), self._deployment.limits
        for session in await self._roots(caller.principal.key, caller.workspace):
            if not session.shared or session.ended_at is not None or session.agent != caller.agent:
                continue
            silent = now - await self._used(session)
            if silent > limits.root_silence_seconds:
                await self.end(session)
                continue
            if silent > limits.ruling_silence_seconds:
                await self._lapse_rulings(session, now)
            await self._touch(session, now)
            return await self._in_mode(session)
        return None

    async def _in_mode(self, root: SessionRecord) -> SessionRecord:
        """A shared root follows the mode that its deployment asks for now."""
        mode = self._deployment.rulebook.root_mode(root.agent)
        if mode is root.mode:
            return root
        current = replace(root, mode=mode)
        await self._deployment.store.update_session(current)
        return current

    async def _used(self, root: SessionRecord) -> float:
        text = await self._deployment.store.state(root.id, USED)
        return float(text) if text else root.created_at

    async def _touch(self, root: SessionRecord, now: float) -> None:
        """Once a minute is enough for limits of hours."""
        if root.shared and now - await self._used(root) > 60:
            await self._deployment.store.set_state(root.id, USED, repr(now))

    async def _lapse_rulings(self, root: SessionRecord, now: float) -> None:
        for record in await self._deployment.store.rulings(principal=root.principal, session_ids=[root.id], standing_at=now):
            if record.reach is Reach.SESSION and record.action is Action.ALLOW:  # a deny stands until a person revokes it
                event = events.ruled(now, record, (root.agent,), "lapsed: the session was silent for too long", by="")
                await self._deployment.store.revoke(record.id, principal=root.principal, now=now, events=(event,))

    async def end(self, root: SessionRecord) -> None:
        """It takes no more calls, and its lines in the background end. Its children go on, as any root of the same caller may see."""
        self._deployment.background.end(root.id)
        now = self._deployment.clock()
        await self._deployment.store.update_session(replace(root, ended_at=now))
        await self._deployment.store.audit((events.rooted(now, root, "ended"),))

    async def ended_by(self, root_id: SessionId) -> str:
        """Who ended it in place of its connection; empty: nobody."""
        return await self._deployment.store.state(root_id, ENDED_BY) or ""

    async def of_caller(self, root: SessionRecord) -> tuple[SessionRecord, ...]:
        """Every root of the same caller, this one first."""
        others = await self._roots(root.principal, root.workspace)
        return (root, *(one for one in others if one.id != root.id and same_caller(one, root)))

    async def _roots(self, principal: str, workspace: str) -> tuple[SessionRecord, ...]:
        return await self._deployment.store.sessions(principal, workspace=workspace, roots=True, limit=MOST)
