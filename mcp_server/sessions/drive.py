"""`advance`: one run's state machine over its own stored transcript.

It acts until the run has ended or waits for a person or a child, stores, and returns. Everything it needs to go on is in the store:
delivering `advance` again, here or in another process, continues where the transcript stands.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from mcp_server.errors import LeaseLost, ModelError
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import (
    AuditEvent,
    CallEnded,
    CallStarted,
    Cancelled,
    Completed,
    Entry,
    Expired,
    Failed,
    Outcome,
    RefusedCall,
    RunRecord,
    RunState,
    SessionRecord,
    StoredEntry,
)
from mcp_server.sessions import refusals
from mcp_server.sessions.compaction import Compaction
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.events import ending_words, ran
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.pulse import Pulse
from mcp_server.sessions.standing import standing_of
from mcp_server.sessions.transcripts import NeedsCalls, NeedsTurn, SaidAll, last_words, next_step, refused_in, repeats, turns_of
from mcp_server.sessions.transitions import check
from mcp_server.sessions.turns import Turns
from mcp_server.sessions.work import AwaitsChild, Parked, Work, key_of
from mcp_server.store.protocol import Lease


class _Kept(TypedDict):
    """What every outcome but a completed one keeps of the run."""

    partial: str
    refused: tuple[RefusedCall, ...]


@dataclass(frozen=True, slots=True)
class _Attempted:
    call: ToolCall
    result: CallEnded | Parked


class _Woken:
    """Something that a parked call waits for is over."""


_Signal = _Attempted | _Woken


class Drive:
    """One process's hold on one run, for as long as the lease is its own."""

    def __init__(
        self, deployment: Deployment, gate: Gate, turns: Turns, pulse: Pulse, lease: Lease, session: SessionRecord, run: RunRecord
    ) -> None:
        self._deployment = deployment
        self._gate = gate
        self._turns = turns
        self._pulse = pulse
        self._lease = lease
        self._session = session
        self._run = run
        self._compaction = Compaction(deployment)
        self._path: tuple[str, ...] = ()

    async def advance(self) -> tuple[Parked, ...] | None:
        """Go on until the run rests or ends. Returns what it waits for; None: it has ended.

        Raises:
            LeaseLost: Another process has it now.
            StoreError: It cannot be written down; nothing further is done.
        """
        self._path = (await standing_of(self._deployment, self._session)).path
        if self._run.cancel_requested is not None:
            return await self.end_cancelled(self._run.cancel_requested)
        await self._resume()
        with anyio.move_on_after(self._left()):
            return await self._steps()
        # The steps return or raise, so only the clock leads here.
        with anyio.CancelScope(shield=True):
            return await self._end(RunState.EXPIRED, Expired(limit="time", **await self._kept()))

    async def _steps(self) -> tuple[Parked, ...] | None:
        while True:
            entries = await self._deployment.store.transcript(self._session.id)
            match next_step(entries, frozenset(self._pulse.running)):
                case SaidAll(text=text):
                    return await self._end(RunState.COMPLETED, Completed(result=text, refused=refused_in(entries, self._run.id)))
                case NeedsTurn():
                    limit = self._limit(turns_of(entries, self._run.id))
                    if limit is not None:
                        return await self._end(RunState.EXPIRED, Expired(limit=limit, **await self._kept()))
                    if not await self._shortened(entries) and not await self._turn():
                        return None
                case NeedsCalls() as needed:
                    looping = frozenset(call.id for call in needed.calls if repeats(entries, self._run.id, call))
                    parked = await self._calls(needed, looping)
                    if parked:
                        await self._save(RunState.WAITING, reason=_waits_for(parked))
                        return parked

    # ---- one model turn -------------------------------------------------------------------------

    async def _turn(self) -> bool:
        """False: the run has ended, because no turn could be had."""
        try:
            turn = await self._turns.turn(self._session, self._run)
        except ModelError as error:
            long = self._compaction.failure
            words = f"{error} (the transcript is long and could not be shortened: {long})" if long else str(error)
            await self._end(RunState.FAILED, Failed(error=words, **await self._kept()))
            return False
        self._run = replace(self._run, usage=self._run.usage + turn.usage)
        happened = self._noted(f"{turn.model} answered: {turn.instead}") if turn.instead else ()
        await self._save(RunState.RUNNING, entries=(turn,), happened=happened)
        return True

    async def _shortened(self, entries: Sequence[StoredEntry]) -> bool:
        """Was the transcript shortened for the model just now?"""
        compacted = await self._compaction.due(self._session, entries)
        if compacted is None:
            return False
        self._run = replace(self._run, usage=self._run.usage + compacted.usage)
        words = f"the model's view of the transcript was condensed up to entry {compacted.through} by {compacted.model}"
        await self._save(RunState.RUNNING, entries=(compacted,), happened=self._noted(words))
        return True

    def _noted(self, words: str) -> tuple[AuditEvent, ...]:
        return (ran(self._deployment.clock(), self._run, self._path, words),)

    def _limit(self, turns: int) -> str | None:
        steps = self._turns.steps(self._session) or self._deployment.limits.steps
        if turns >= steps:
            return f"{steps} steps"
        tokens = self._run.usage.input_tokens + self._run.usage.output_tokens
        return f"{self._deployment.limits.run_tokens} tokens" if tokens >= self._deployment.limits.run_tokens else None

    # ---- the calls of one turn ------------------------------------------------------------------

    async def _calls(self, needed: NeedsCalls, looping: frozenset[CallId]) -> tuple[Parked, ...]:
        """All open calls at once. A parked call is tried again when what it waits for is over, even while others still run."""
        parked: dict[CallId, tuple[ToolCall, Parked]] = {}
        send, receive = anyio.create_memory_object_stream[_Signal](float("inf"))
        with send, receive, self._pulse.hearing(lambda: send.send_nowait(_Woken())):
            async with anyio.create_task_group() as group:
                flying = len(needed.calls)
                for call in needed.calls:
                    group.start_soon(self._try, call, needed, looping, send)
                while flying:
                    signal = await receive.receive()
                    if isinstance(signal, _Attempted):
                        flying -= 1
                        if not isinstance(signal.result, CallEnded):
                            parked[signal.call.id] = (signal.call, signal.result)
                            self._pulse.watch([key_of(wait) for _, wait in parked.values()])
                        continue
                    for call, _ in parked.values():
                        group.start_soon(self._try, call, needed, looping, send)
                    flying += len(parked)
                    parked.clear()
        return tuple(result for _, result in parked.values())

    async def _try(self, call: ToolCall, needed: NeedsCalls, looping: frozenset[CallId], send: MemoryObjectSendStream[_Signal]) -> None:
        work = Work(
            session=self._session,
            call=call,
            journal=self,
            run=self._run,
            looping=call.id in looping,
            background=self._run.background,
            progress=self._progress_of(call),
        )
        if call.id in needed.interrupted:
            result = await self._gate.rejoin(work) or await self._interrupted(call)
        else:
            result = await self._gate.attempt(work)
        send.send_nowait(_Attempted(call, result))

    def _progress_of(self, call: ToolCall) -> Callable[[str], Awaitable[None]]:
        async def tell(text: str) -> None:
            self._pulse.tell(f"{' › '.join(self._path)}: {call.tool}: {text}")

        return tell

    async def _interrupted(self, call: ToolCall) -> CallEnded:
        ended = refusals.interrupted(call)
        await self.ended(ended, ())
        return ended

    # ---- the journal of this run ----------------------------------------------------------------

    async def started(self, call: ToolCall, events: Sequence[AuditEvent], uses: Sequence[RulingId]) -> bool:
        self._pulse.tell(f"{' › '.join(self._path)}: {call.tool} {refusals.summary_of(call)}")
        written = await self._deployment.store.save_run(
            self._run, self._lease, entries=(CallStarted(call_id=call.id),), events=events, uses=uses, now=self._deployment.clock()
        )
        if written:
            self._pulse.running.add(call.id)
        return written

    async def ended(self, ended: CallEnded, events: Sequence[AuditEvent]) -> None:
        await self._save(RunState.RUNNING, entries=(ended,), happened=events)
        self._pulse.running.discard(ended.call_id)

    # ---- states ---------------------------------------------------------------------------------

    async def _resume(self) -> None:
        """Time spent waiting is not the run's: its deadline moves on by as much."""
        now = self._deployment.clock()
        if self._run.expires_at is None:
            seconds = self._turns.seconds(self._session) or self._deployment.limits.run_seconds
            self._run = replace(self._run, expires_at=now + seconds)
        else:
            self._run = replace(self._run, expires_at=self._run.expires_at + max(0.0, now - self._run.updated_at))
        if self._run.state is not RunState.RUNNING:
            await self._save(RunState.RUNNING)

    def _left(self) -> float:
        return max(0.0, (self._run.expires_at or 0.0) - self._deployment.clock())

    async def _kept(self) -> _Kept:
        entries = await self._deployment.store.transcript(self._session.id)
        return {"partial": last_words(entries, self._run.id), "refused": refused_in(entries, self._run.id)}

    async def end_cancelled(self, by: str) -> None:
        """Close the run as cancelled, with what it has."""
        await self._end(RunState.CANCELLED, Cancelled(by=by, **await self._kept()))

    async def end_broken(self) -> None:
        """Close the run as failed, with what it has: the server met a fault of its own in it."""
        if self._run.state is not RunState.RUNNING:
            await self._save(RunState.RUNNING)
        try:
            kept = await self._kept()
        except Exception:  # the same fault may be met in what is kept
            kept = _Kept(partial="", refused=())
        await self._end(RunState.FAILED, Failed(error="Remit failed in a way nobody expected; the server's log says how", **kept))

    async def set_down(self) -> None:
        """The server stops: keep the run for whoever starts next."""
        if self._run.state is RunState.RUNNING:
            await self._save(RunState.QUEUED, reason="the server stopped; it goes on when one starts for this workspace")

    async def _end(self, state: RunState, outcome: Outcome) -> None:
        self._run = replace(self._run, outcome=outcome)
        event = ran(self._deployment.clock(), self._run, self._path, ending_words(outcome))
        await self._save(state, reason=outcome.kind, happened=(event,))

    async def _save(self, state: RunState, *, reason: str = "", entries: Sequence[Entry] = (), happened: Sequence[AuditEvent] = ()) -> None:
        now = self._deployment.clock()
        self._run = replace(self._run, state=check(self._run.state, state), reason=reason, updated_at=now)
        if not await self._deployment.store.save_run(self._run, self._lease, entries=entries, events=happened, now=now):
            raise LeaseLost("the run was not written")  # without `uses` only a lost lease can say no


def _waits_for(parked: tuple[Parked, ...]) -> str:
    children = sum(isinstance(wait, AwaitsChild) for wait in parked)
    people = len(parked) - children
    words = [f"{people} answer(s) of a person" if people else "", f"{children} child(ren)" if children else ""]
    return "waits for " + " and ".join(word for word in words if word)
