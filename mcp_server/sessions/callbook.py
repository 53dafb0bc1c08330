"""The client's calls as they live in this process: begun, parked, gone on with, laid aside, dropped.

A call acts only while a request is attached to it. What it comes to is the gate's; who may see it is `desk`'s.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from mcp_server.errors import NoSuchHandle, RemitError, StoreError
from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import CallEnded, SessionRecord
from mcp_server.sessions.clientcalls import ClientCall, Lasting, RootJournal, forget, keep, kept_call, new_call, restored, was_begun
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.lookups import same_caller
from mcp_server.sessions.roots import Roots
from mcp_server.sessions.supervisor import LAY_DOWN, Supervisor
from mcp_server.sessions.view import CARRIERS, ORPHANS, Views
from mcp_server.sessions.work import AnyTool, AwaitsChild, Work, key_of

log = structlog.get_logger(__name__)


class CallBook:
    """Every client's call of this process."""

    def __init__(
        self, deployment: Deployment, supervisor: Supervisor, gate: Gate, tools: Mapping[str, AnyTool], roots: Roots, views: Views
    ) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._gate = gate
        self._tools = tools
        self._roots = roots
        self.views = views
        self._calls = views.calls
        self.lasting: Lasting | None = None
        """Keeps promised calls. None: there are none."""
        self._group: TaskGroup | None = None

    def open(self, group: TaskGroup) -> None:
        """Calls live in `group`."""
        self._group = group

    def leave(self, root_id: SessionId) -> None:
        """A connection's root is left: its calls end here. What was parked stays kept."""
        for call in [call for call in self._calls.values() if call.root.id == root_id and not call.promised]:
            self._drop(call)

    @property
    def roots(self) -> frozenset[SessionId]:
        """Those whose calls are here."""
        return frozenset(call.root.id for call in self._calls.values())

    def end(self, root_id: SessionId, fault: RemitError) -> None:
        """A root was ended by somebody: whoever waits for its calls is told, and nobody finds them again. Promised ones are cancelled where
        they are kept.
        """
        for call in [call for call in self._calls.values() if call.root.id == root_id and not call.promised and call.fault is None]:
            call.fault = fault
            self._supervisor.wakeups.forget(call.call.id)
            if call.scope is not None:
                call.scope.cancel()
            if call.attached == 0:
                self.forget(call)
            self._supervisor.wakeups.ring(call.call.id)

    def find(self, root: SessionRecord, call_id: CallId) -> ClientCall:
        """The caller's call.

        Raises:
            NoSuchHandle: It is not the caller's.
        """
        call = self._calls.get(call_id)
        if call is None or not same_caller(call.root, root):
            raise NoSuchHandle("call")
        return call

    def begin(self, root: SessionRecord, tool: str, arguments: Mapping[str, Any]) -> CallId:
        """See `Front.begin`."""
        self._forget_abandoned()
        new = new_call(root, tool, arguments)
        new.trace = self._deployment.telemetry.here()
        for call in self._calls.values():
            if call.root.id == root.id and call.digest == new.digest and call.attached == 0 and not (call.told or call.handed):
                return self._attach(call)
        self._calls[new.call.id] = new
        return self._attach(new)

    async def rejoin(self, root: SessionRecord, call_id: str) -> CallId:
        """See `Front.rejoin`."""
        call = self._calls.get(CallId(call_id)) or await self._kept(root, call_id)
        if call is None or not same_caller(call.root, root):
            raise NoSuchHandle("call")
        return self._attach(self._calls.setdefault(call.call.id, call))

    async def _kept(self, root: SessionRecord, call_id: str) -> ClientCall | None:
        """A call that was written down, under whichever of the caller's roots: after a restart the connection has another one."""
        for owner in await self._roots.of_caller(root):
            if await self._roots.ended_by(owner.id):
                continue
            kept = await kept_call(self._deployment.store, owner.id, call_id)
            if kept is not None:
                found = restored(owner, kept)
                found.trace = self._deployment.telemetry.here()
                harmless = kept.tool in self._tools and self._tools[kept.tool].spec.by_ownership
                found.interrupted = not harmless and await was_begun(self._deployment.store, owner.id, call_id)
                return found
        return None

    def _attach(self, call: ClientCall) -> CallId:
        call.attached += 1
        self.go_on(call)
        return call.call.id

    def go_on(self, call: ClientCall) -> None:
        """Take it further. Without a request attached it waits, unless it is promised: nobody would see what it does."""
        if (
            self._group is None
            or not (call.attached or call.promised)
            or call.scope is not None
            or call.ended is not None
            or call.fault is not None
        ):
            return
        call.scope = anyio.CancelScope()
        self._group.start_soon(self._act, call, call.scope)

    async def _act(self, call: ClientCall, scope: anyio.CancelScope) -> None:
        taken = True
        with scope:
            try:
                taken = not call.promised or self.lasting is None or await self.lasting.take(call)
                if taken:
                    await self._attempt(call)
            except RemitError as error:
                call.fault = error
            except Exception as error:  # the request is told that the server failed; the log has the rest
                log.exception("a call failed", tool=call.call.tool)
                call.fault = error
            except anyio.get_cancelled_exc_class():
                await self._given_up(call)
                raise
        if call.promised and self.lasting is not None:
            await self.lasting.came_to(call)
        await self._after(call, taken)

    async def _after(self, call: ClientCall, taken: bool) -> None:
        """It acts no more, for now or for good."""
        call.scope = None
        if not taken:
            pass  # another process has it, or it is over; whoever keeps it looks again
        elif call.parked is not None and call.ended is None and call.fault is None:
            await self._rest(call)
        elif call.ended is None and call.fault is None and call.call.id in self._calls:
            self.go_on(call)  # laid aside, and asked for again before it had stopped
        self._supervisor.wakeups.ring(call.call.id)

    async def _given_up(self, call: ClientCall) -> None:
        """It was stopped at work, or the server ends: another process need not wait until it is taken for dead."""
        if call.promised and self.lasting is not None and call.ended is None:
            with anyio.move_on_after(LAY_DOWN, shield=True), suppress(StoreError):
                await self.lasting.rest(call)

    async def _attempt(self, call: ClientCall) -> None:
        call.parked = None
        journal = RootJournal(self._deployment, call)
        work = Work(
            session=call.root,
            call=call.call,
            journal=journal,
            lasting=call.promised,
            progress=call.steps.tell,
            hearer=call.earshot,
            halted=partial(_asking, call),
            trace=call.trace,
        )
        if call.interrupted:
            result = await self._gate.rejoin(work)
        else:
            result = await self._gate.attempt(work)
        if isinstance(result, CallEnded):
            call.ended = result
            self.views.gone(call)
            await forget(self._deployment.store, call)
            return
        call.parked = result
        if isinstance(result, AwaitsChild) and (run := await self._deployment.store.run(result.run_id)) is not None:
            self.views.parked_on(call, run.session_id)
        if not call.promised:
            await keep(self._deployment.store, call)

    async def _rest(self, call: ClientCall) -> None:
        if call.parked is None:
            return
        key = key_of(call.parked)
        try:
            if call.promised and self.lasting is not None:
                await self.lasting.rest(call)
            self._supervisor.wakeups.wait(call.call.id, [key], partial(self.go_on, call))
            over = await self._supervisor.is_over(key)
        except StoreError:
            return  # whoever watches the store looks again
        if over:
            self._supervisor.wakeups.over(key)

    async def detach(self, call_id: CallId, *, back: bool = False) -> None:
        """See `Front.detach`."""
        call = self._calls.get(call_id)
        if call is None:
            return
        # Not at the end of every call: each request that waits would look again at the end of each other one.
        orphaning = (ORPHANS,) if self.views.shows_what_waits(call) else ()
        call.attached = max(0, call.attached - 1)
        if call.attached:
            return
        call.left_at = self._deployment.clock()
        self._supervisor.wakeups.ring(*orphaning)
        if call.promised and call.ended is None and call.fault is None:
            return
        if call.told or call.promised:
            self.forget(call)
            return
        if call.parked is not None or call.scope is None:
            return
        if back and call.call.tool not in CARRIERS:
            await keep(self._deployment.store, call)  # it goes on, as its client was told: the same call again has what came of it
            return
        if call.call.tool in CARRIERS:
            await self._lay_aside(call)
        else:
            self._drop(call)

    async def _lay_aside(self, call: ClientCall) -> None:
        """It only looks and carries prompts. The request may be back with their answers, also after a restart: then it looks again."""
        if call.scope is not None:
            call.scope.cancel()
        await keep(self._deployment.store, call)

    def _drop(self, call: ClientCall) -> None:
        """Nobody waits for it, and it acts or will never be asked for again: end what it does. A parked call stays kept."""
        if call.scope is not None:
            call.scope.cancel()
        self._supervisor.wakeups.forget(call.call.id)
        self.forget(call)

    def _forget_abandoned(self) -> None:
        """Calls whose wait is over and to which nobody has come back for as long as a silent caller is waited for."""
        since = self._deployment.clock() - self._deployment.limits.root_silence_seconds
        for call in tuple(self._calls.values()):
            waits = call.promised or call.scope is not None or self._supervisor.wakeups.waits(call.call.id)
            if call.attached == 0 and not waits and call.left_at < since:
                self.forget(call)

    def forget(self, call: ClientCall) -> None:
        self.views.gone(call)
        self._calls.pop(call.call.id, None)


@asynccontextmanager
async def _asking(call: ClientCall) -> AsyncGenerator[None]:
    call.asking += 1
    try:
        yield
    finally:
        call.asking -= 1
