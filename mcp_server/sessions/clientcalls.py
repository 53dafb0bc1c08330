"""A client's own calls, as they live in this process and as they are kept where they must outlive it.

A call that parks is written down with its session, so that a later request, also after a restart, finds it and goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from pydantic import TypeAdapter

from mcp_server.errors import NoSuchHandle
from mcp_server.policy.values import Action, CallId, ToolCall
from mcp_server.policy.verdicts import RulingId, SessionId
from mcp_server.records import AuditEvent, CallEnded, RunRecord, SessionRecord
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import call_digest
from mcp_server.sessions.front import Sampling
from mcp_server.sessions.lookups import child_of
from mcp_server.sessions.newsreel import Earshot, Newsreel
from mcp_server.sessions.work import AwaitsChild, Parked
from mcp_server.store.ids import is_id, mint
from mcp_server.store.protocol import Store

_KEPT = TypeAdapter(ToolCall)

LOOK_BACK = 10_000
"""Audit events of one session: more than any between a call's permission and its retry."""


@dataclass(slots=True)
class ClientCall:
    """One call. Mutable: it is the live thing, not a record."""

    root: SessionRecord
    call: ToolCall
    digest: str
    attached: int = 0
    """Requests that wait for it now."""
    sampling: Sampling | None = None
    """What the newest of them lends of its client's model; None: it has not said yet."""
    left_at: float = 0.0
    """When the last of them left. Seconds since the epoch."""
    scope: anyio.CancelScope | None = None
    """Set while it acts."""
    parked: Parked | None = None
    asking: int = 0
    """What another server wants to know of the person now, while it acts."""
    ended: CallEnded | None = None
    fault: Exception | None = None
    """What went wrong with the server itself; told to whoever attaches."""
    told: bool = False
    """Its end was told to a request."""
    kept: bool = False
    """It is written down."""
    interrupted: bool = False
    """A process that is gone had begun to carry it out."""
    earshot: Earshot = field(default_factory=Earshot)
    """What its request hears of log messages."""
    steps: Newsreel = field(default_factory=Newsreel)
    """Its own progress."""
    promised: bool = False
    """It lasts without a request: its client has a handle for it."""
    handed: bool = False
    """The handle was given out. Until then the same call again is taken for a retry by a client that never got it."""
    followed_at: float = 0.0
    """When its client last looked at it by its handle. Seconds since the epoch."""
    begun: bool = False
    """It was permitted and started."""
    trace: str = ""
    """Where telemetry tells of the request that began it, or after a restart of the one that came back to it."""
    writing: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))
    """Held while its beginning or end, or the promise, is written: each must know of the other."""


def new_call(root: SessionRecord, tool: str, arguments: Mapping[str, Any]) -> ClientCall:
    """A call that a client begins now."""
    call = ToolCall(id=CallId(mint("call")), tool=tool, arguments=dict(arguments))
    return ClientCall(root=root, call=call, digest=call_digest(root.principal, root.id, tool, arguments))


def restored(root: SessionRecord, call: ToolCall) -> ClientCall:
    """A call that was written down before."""
    return ClientCall(root=root, call=call, digest=call_digest(root.principal, root.id, call.tool, call.arguments), kept=True)


async def keep(store: Store, call: ClientCall) -> None:
    """Write down a parked call."""
    if not call.kept:
        await store.set_state(call.root.id, f"call:{call.call.id}", _KEPT.dump_json(call.call).decode())
        call.kept = True


async def forget(store: Store, call: ClientCall) -> None:
    """It has ended: an empty text stands for none."""
    if call.kept:
        await store.set_state(call.root.id, f"call:{call.call.id}", "", synced=False)


async def kept_call(store: Store, root_id: SessionId, call_id: str) -> ToolCall | None:
    """A call that was written down and has not ended. None too for what is no call's id."""
    if not is_id("call", call_id):
        return None
    text = await store.state(root_id, f"call:{call_id}")
    return _KEPT.validate_json(text) if text else None


async def was_begun(store: Store, root_id: SessionId, call_id: str) -> bool:
    """Was it permitted already? For a call that is still kept: then it may have been done, in part or whole."""
    log = await store.audit_log(session_id=root_id, limit=LOOK_BACK)
    return any(stored.event.ref == call_id and stored.event.kind == "decision" and stored.event.action is Action.ALLOW for stored in log)


async def subject_of(store: Store, call: ClientCall) -> tuple[SessionRecord, RunRecord] | None:
    """The child that the call is about, and its run, where there is one yet."""
    if isinstance(call.parked, AwaitsChild) and (run := await store.run(call.parked.run_id)) is not None:
        session = await store.session(run.session_id, run.principal)
        return None if session is None else (session, run)
    task_id = call.call.arguments.get("task_id")
    if call.call.tool not in ("task_status", "task_cancel") or not isinstance(task_id, str):
        return None
    try:
        return await child_of(store, call.root, task_id)
    except NoSuchHandle:
        return None


class Lasting(Protocol):
    """Who keeps the calls that last without a request. See `promises`."""

    async def take(self, call: ClientCall) -> bool:
        """Hold it, before anything is done for it. False: there is nothing to do here now."""
        ...

    async def rest(self, call: ClientCall) -> None:
        """It waits: nobody holds it."""
        ...

    async def came_to(self, call: ClientCall) -> None:
        """An attempt is over: keep what it came to, if it has come to an end."""
        ...


class RootJournal:
    """A client's own calls have no transcript here, the client keeps it: only the audit is written, and the end of a promised call."""

    def __init__(self, deployment: Deployment, call: ClientCall) -> None:
        self._deployment = deployment
        self._call = call

    async def started(self, call: ToolCall, events: Sequence[AuditEvent], uses: Sequence[RulingId]) -> bool:
        async with self._call.writing:
            begun = await self._begin(events, uses)
            self._call.begun = self._call.begun or begun
            return begun

    async def _begin(self, events: Sequence[AuditEvent], uses: Sequence[RulingId]) -> bool:
        store, now = self._deployment.store, self._deployment.clock()
        if self._call.promised:
            return await store.begin_promised(self._call.call.id, owner=self._deployment.owner, now=now, events=events, uses=uses)
        if not uses:
            await store.audit(events)
            return True
        return await store.use_rulings(uses, now=now, events=events)

    async def ended(self, ended: CallEnded, events: Sequence[AuditEvent]) -> None:
        store, now = self._deployment.store, self._deployment.clock()
        async with self._call.writing:
            if self._call.promised:
                await store.end_promised(self._call.call.id, owner=self._deployment.owner, now=now, ended=ended, events=events)
                return
            # What became of a call permits nothing: it need not be on the disk before the client is told.
            await store.audit(events, synced=any(event.kind == "decision" for event in events))
