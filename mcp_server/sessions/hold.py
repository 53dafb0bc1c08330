"""One process's hold on one run, for as long as the lease is its own: the run's state as it is written down, and its journal."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from mcp_server.errors import LeaseLost
from mcp_server.policy.values import ToolCall
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import (
    AuditEvent,
    CallEnded,
    CallStarted,
    Cancelled,
    Entry,
    Failed,
    Outcome,
    RefusedCall,
    RunRecord,
    RunState,
    SessionRecord,
    Usage,
)
from mcp_server.sessions.allowance import charge_of
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.events import ending_words, ran, reason_of
from mcp_server.sessions.pulse import Pulse
from mcp_server.sessions.refusals import summary_of
from mcp_server.sessions.transcripts import last_words, refused_in
from mcp_server.sessions.transitions import check
from mcp_server.store.protocol import Lease


class Kept(TypedDict):
    """What every outcome but a completed one keeps of the run."""

    partial: str
    refused: tuple[RefusedCall, ...]


class Hold:
    """The run, and the only writer of it. A `Journal` for its calls."""

    def __init__(
        self, deployment: Deployment, pulse: Pulse, lease: Lease, session: SessionRecord, run: RunRecord, path: tuple[str, ...]
    ) -> None:
        self._deployment = deployment
        self._pulse = pulse
        self._lease = lease
        self.session = session
        self.run = run
        self.path = path
        self.trace = ""
        """Where telemetry tells of what it does now."""
        self.good_until = float("inf")
        """By the steady clock, when the lease lapses unless it is renewed."""
        self._counted_at = deployment.steady()
        """Up to when the working time is in the record."""
        self._seconds = 0.0
        self._halted_at: float | None = None
        """Since when the time is not the run's."""

    @property
    def lease(self) -> Lease:
        """What it is held by."""
        return self._lease

    async def started(self, call: ToolCall, events: Sequence[AuditEvent], uses: Sequence[RulingId]) -> bool:
        self._pulse.tell(f"{' › '.join(self.path)}: {call.tool} {summary_of(call)}")
        if self._lapsed():
            await self.renew()  # a loop that was held up may be late, and nobody else has come
        written = await self._deployment.store.save_run(
            self.run, self._lease, entries=(CallStarted(call_id=call.id),), events=events, uses=uses, now=self._deployment.clock()
        )
        if written:
            if self._lapsed():  # nothing is awaited from here to the act
                raise LeaseLost("the lease lapsed before the call could begin")
            self._pulse.running.add(call.id)
        return written

    def _lapsed(self) -> bool:
        """A process that was stopped for longer than its lease is about to do what another one may have given up for lost."""
        return self._deployment.steady() >= self.good_until

    async def renew(self) -> None:
        """Hold on to the run.

        Raises:
            LeaseLost: Another process has it now.
        """
        seconds, good_from = self._deployment.limits.lease_seconds, self._deployment.steady()
        kept = await self._deployment.store.claim(self.run.id, owner=self._lease.owner, now=self._deployment.clock(), seconds=seconds)
        if kept is None or kept.fence != self._lease.fence:
            raise LeaseLost("the lease could not be renewed")
        self.good_until = good_from + seconds

    async def ended(self, ended: CallEnded, events: Sequence[AuditEvent]) -> None:
        await self.save(RunState.RUNNING, entries=(ended,), happened=events)
        self._pulse.running.discard(ended.call_id)

    async def resume(self, seconds: float) -> None:
        """Take it up. Time spent waiting is not the run's. `seconds`: its working time in all."""
        self._seconds, self._counted_at = seconds, self._deployment.steady()
        if self.run.state is not RunState.RUNNING:
            await self.save(RunState.RUNNING, synced=False)

    def left(self) -> float:
        """Seconds of working time that it still has."""
        return max(0.0, self._seconds - self.worked)

    def idled(self, seconds: float) -> None:
        """So much of the time just now was not the run's."""
        self._counted_at += seconds

    def halt(self) -> None:
        """From now on the time is not the run's."""
        self._halted_at = self._deployment.steady()

    def go_on(self) -> None:
        """From now on it is again."""
        if self._halted_at is not None:
            self._counted_at += self._deployment.steady() - self._halted_at
            self._halted_at = None

    @property
    def worked(self) -> float:
        """Seconds of working time so far."""
        now = self._deployment.steady() if self._halted_at is None else self._halted_at
        return self.run.worked + now - self._counted_at

    async def kept(self) -> Kept:
        """What it has so far."""
        entries = await self._deployment.store.transcript(self.session.id)
        return {"partial": last_words(entries, self.run.id), "refused": refused_in(entries, self.run.id)}

    async def end_cancelled(self, by: str) -> None:
        """Close the run as cancelled, with what it has."""
        await self.end(RunState.CANCELLED, Cancelled(by=by, **await self.kept()))

    async def end_broken(self) -> None:
        """Close the run as failed, with what it has: the server met a fault of its own in it."""
        if self.run.state is not RunState.RUNNING:
            await self.save(RunState.RUNNING)
        try:
            kept = await self.kept()
        except Exception:  # the same fault may be met in what is kept
            kept = Kept(partial="", refused=())
        await self.end(RunState.FAILED, Failed(error="Remit failed in a way nobody expected; the server's log says how", **kept))

    async def set_down(self) -> None:
        """The server stops: keep the run for whoever starts next."""
        if self.run.state is RunState.RUNNING:
            await self.save(RunState.QUEUED, reason="the server stopped; it goes on when one starts for this workspace")

    async def end(self, state: RunState, outcome: Outcome) -> None:
        """Close it."""
        self.run = replace(self.run, outcome=outcome)
        event = ran(self._deployment.clock(), self.run, self.path, ending_words(outcome))
        await self.save(state, reason=reason_of(outcome), happened=(event,))
        self._deployment.telemetry.ended(self.session, self.run)

    async def save(
        self,
        state: RunState,
        *,
        reason: str = "",
        entries: Sequence[Entry] = (),
        happened: Sequence[AuditEvent] = (),
        waits_for: tuple[str, ...] = (),
        used: Usage | None = None,
        synced: bool = True,
    ) -> None:
        """Write its state down, with what has happened. `used`: by a turn just now, for the day's count. `synced` False: for what is done
        again where a loss of power takes it.

        Raises:
            LeaseLost: Another process has it now.
        """
        charge = None if used is None else await charge_of(self._deployment, self.session.principal, used)
        now, worked = self._deployment.clock(), self.worked
        self._counted_at = self._deployment.steady()
        self._halted_at = None if self._halted_at is None else self._counted_at
        self.run = replace(self.run, state=check(self.run.state, state), reason=reason, updated_at=now, worked=worked, waits_for=waits_for)
        store = self._deployment.store
        if not await store.save_run(self.run, self._lease, entries=entries, events=happened, charge=charge, now=now, synced=synced):
            raise LeaseLost("the run was not written")  # without `uses` only a lost lease can say no
