"""Client's calls that outlive their request: made to last, carried on by one process at a time, found again after a restart.

They have no states of their own. Such a call is a client's call like any other (`callbook`), but it needs no request to go on, what it
comes to is stored, and whoever acts on it holds it in the store. While it waits nobody holds it.
"""

from functools import partial

import anyio
import structlog

from mcp_server.errors import LeaseLost, StoreError
from mcp_server.policy.values import CallId
from mcp_server.records import FINAL, CallEnded, PromptState, RunId, RunRecord
from mcp_server.sessions import refusals
from mcp_server.sessions.callbook import CallBook
from mcp_server.sessions.clientcalls import ClientCall, restored
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import SPAWNS, child_ids
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.work import key_of
from mcp_server.store.promised import PromisedCall

log = structlog.get_logger(__name__)

KEPT_SECONDS = 7 * 86_400.0
"""For how long the end of a promised call can be asked for. As long as a prompt that nobody saw stays open."""
MOST = 1_000
"""Calls of one principal that may go on without a request at once. Past it a call is answered as if tasks were not known."""
POLL = 0.2
"""Seconds between two looks at the store's change number, as for runs."""
INTERNAL = "internal error; the server's log says what happened"


class Promises:
    """Those of this process's workspaces."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, book: CallBook) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._book = book
        self._calls = book.views.calls
        book.lasting = self
        self._seen = -1
        self._sweep_at = 0.0

    # ---- making one -----------------------------------------------------------------------------

    async def make(self, call: ClientCall) -> bool:
        """Let it last. False: it has ended, or its caller has too many."""
        if call.promised:
            return True
        if call.fault is not None or (call.ended is not None and await self._below(call) is None):
            return False
        if len(await self._deployment.store.promised_open(principal=call.root.principal)) >= MOST:
            log.warning("a caller has as many calls going on without a request as it may", principal=call.root.principal)
            return False
        async with call.writing:
            await self._deployment.store.add_promised(self._record(call))
            call.promised = True
        await self._settle(call)
        return True

    def _record(self, call: ClientCall) -> PromisedCall:
        now, acts = self._deployment.clock(), call.scope is not None
        return PromisedCall(
            call=call.call,
            root_id=call.root.id,
            principal=call.root.principal,
            workspace=call.root.workspace,
            created_at=now,
            updated_at=now,
            begun=call.begun,
            waits_for=None if call.parked is None else key_of(call.parked),
            owner=self._deployment.owner if acts else None,
            lease_until=now + self._deployment.limits.lease_seconds if acts else None,
            trace=call.trace,
        )

    async def _settle(self, call: ClientCall) -> None:
        """It may have ended before it was promised: for good, or only for the request, while what it started goes on."""
        if call.ended is None:
            return
        if await self._below(call) is None:
            await self.take(call)
            await self._keep_end(call, call.ended)
            return
        call.ended, call.told = None, False
        self._book.go_on(call)

    async def _below(self, call: ClientCall) -> RunRecord | None:
        """The run that the call has started, if it goes on."""
        run = await self._deployment.store.run(child_ids(call.root.id, call.call)[1]) if call.call.tool == SPAWNS else None
        return None if run is None or run.state in FINAL else run

    # ---- carrying it on -------------------------------------------------------------------------

    async def take(self, call: ClientCall) -> bool:
        """Hold it, before anything is done for it. False: there is nothing to do here now."""
        limits, now = self._deployment.limits, self._deployment.clock()
        store = self._deployment.store
        record = await store.claim_promised(call.call.id, owner=self._deployment.owner, now=now, seconds=limits.lease_seconds)
        if record is None:
            await self._look_elsewhere(call)
            return False
        call.interrupted = record.begun
        if record.cancel_requested is None:
            return True
        below = await self._below(call)
        if below is not None:
            await self._supervisor.cancel(below.session_id, record.cancel_requested)
            return True
        if record.waits_for is not None and record.waits_for.startswith("run_"):
            return True  # what it waits for has ended, and its result is the call's
        await self._withdraw(call, record.cancel_requested)
        call.ended = refusals.cancelled(call.call, record.cancel_requested)
        await self._keep_end(call, call.ended)
        return False

    async def _look_elsewhere(self, call: ClientCall) -> None:
        """Another process holds it, or it is over."""
        record = await self._deployment.store.promised(call.call.id, call.root.principal)
        if record is None or record.is_over:
            self._let_go(call)

    async def _withdraw(self, call: ClientCall, by: str) -> None:
        """Close the prompts that nobody but this call waits for."""
        prompting = self._supervisor.prompting
        for prompt in [prompt for prompt in prompting.open_ones.values() if prompt.calls == (call.call.id,)]:
            await prompting.close(prompt, PromptState.WITHDRAWN, f"the call was cancelled by {by}")

    async def rest(self, call: ClientCall) -> None:
        """It waits: nobody holds it."""
        key = None if call.parked is None else key_of(call.parked)
        owner, now = self._deployment.owner, self._deployment.clock()
        await self._deployment.store.park_promised(call.call.id, owner=owner, now=now, waits_for=key)

    async def came_to(self, call: ClientCall) -> None:
        """An attempt is over: keep what it came to, however it did."""
        try:
            if call.ended is not None:
                await self._keep_end(call, call.ended)
            elif call.fault is not None:
                await self._keep_fault(call, call.fault)
        except LeaseLost:
            log.info("another process has taken a call", call=call.call.id)
            self._let_go(call)
        except StoreError as error:  # it stands as unfinished; `_take_up` looks again
            log.error("what a call came to could not be written down", call=call.call.id, error=str(error))
            call.ended, call.fault = None, error

    async def _keep_end(self, call: ClientCall, ended: CallEnded) -> None:
        owner, now = self._deployment.owner, self._deployment.clock()
        await self._deployment.store.end_promised(call.call.id, owner=owner, now=now, ended=ended)
        self._let_go(call)

    async def _keep_fault(self, call: ClientCall, fault: Exception) -> None:
        if isinstance(fault, StoreError):
            raise fault
        owner, now = self._deployment.owner, self._deployment.clock()
        await self._deployment.store.end_promised(call.call.id, owner=owner, now=now, ended=None, fault=INTERNAL)
        self._let_go(call)

    def _let_go(self, call: ClientCall) -> None:
        self._supervisor.wakeups.forget(call.call.id)
        if call.attached == 0:
            self._book.forget(call)
        self._supervisor.wakeups.ring(call.call.id)

    def cancel_here(self, call_id: CallId) -> None:
        """A cancel was stored: act on it, if the call is this process's or nobody's."""
        call = self._calls.get(call_id)
        if call is None:
            return
        self._supervisor.wakeups.forget(call_id)
        if call.scope is not None:
            call.scope.cancel()
        self._book.go_on(call)

    # ---- after a restart, and beside other processes --------------------------------------------

    async def watch(self) -> None:
        """Until cancelled: take up what nobody carries on, and see what other processes did."""
        while True:
            try:
                await self._look()
            except StoreError as error:
                log.error("the store cannot be read", error=str(error))
            await anyio.sleep(POLL)

    async def _look(self) -> None:
        store = self._deployment.store
        changed, now = await store.changed_elsewhere(), self._deployment.clock()
        sweep = not self._sweep_at - self._deployment.limits.lease_seconds <= now < self._sweep_at
        if changed == self._seen and not sweep:
            return
        await self._take_up(now)
        self._seen = changed
        if sweep:
            await store.drop_promised(ended_before=now - KEPT_SECONDS)
            self._sweep_at = now + self._deployment.limits.lease_seconds / 3

    async def _take_up(self, now: float) -> None:
        mine = [call for call in self._calls.values() if call.promised and call.scope is None]
        found = await self._deployment.store.promised_open(workspaces=self._deployment.workspaces)
        for record in found:
            call = self._calls.get(record.id)
            if call is None:
                await self._find(record, now)
            elif call.scope is not None:
                await self._renew(call, record, now)
            elif record.cancel_requested is not None or not self._supervisor.wakeups.waits(record.id):
                call.fault = None
                self._book.go_on(call)
        known = {record.id for record in found}
        for call in mine:
            if call.call.id not in known:  # another process has ended it
                self._let_go(call)

    async def _find(self, record: PromisedCall, now: float) -> None:
        """One that this process does not know yet."""
        until = record.lease_until
        if record.owner is not None and until is not None and now < until <= now + self._deployment.limits.lease_seconds:
            return  # another process carries it on
        chain = await self._deployment.store.chain(record.root_id)
        if not chain:
            return
        call = restored(chain[0], record.call)
        call.promised, call.kept, call.trace = True, False, record.trace
        self._calls[record.id] = call
        key = record.waits_for
        if key is None or record.cancel_requested is not None or await self._supervisor.is_over(key):
            self._book.go_on(call)
            return
        if key.startswith("run_") and (run := await self._deployment.store.run(RunId(key))) is not None:
            self._book.views.parked_on(call, run.session_id)
        self._supervisor.wakeups.wait(record.id, [key], partial(self._book.go_on, call))

    async def _renew(self, call: ClientCall, record: PromisedCall, now: float) -> None:
        if record.cancel_requested is not None:
            self.cancel_here(record.id)
            return
        limits = self._deployment.limits
        if record.owner != self._deployment.owner or record.lease_until is None or record.lease_until > now + limits.lease_seconds * 0.7:
            return
        kept = await self._deployment.store.claim_promised(record.id, owner=self._deployment.owner, now=now, seconds=limits.lease_seconds)
        if kept is None and call.scope is not None:
            log.warning("lost the lease of a call", call=record.id)
            call.scope.cancel()
