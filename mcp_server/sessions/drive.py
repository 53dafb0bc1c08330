"""`advance`: one run's state machine over its own stored transcript.

It acts until the run has ended or waits for a person or a child, stores, and returns. Everything it needs to go on is in the store:
delivering `advance` again, here or in another process, continues where the transcript stands.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import anyio

from mcp_server.errors import AnswerAwaited, ModelError, PersonAwaited
from mcp_server.records import (
    AuditEvent,
    Completed,
    Expired,
    Failed,
    PromptId,
    RunState,
    StoredEntry,
)
from mcp_server.sessions.budgets import Budgets
from mcp_server.sessions.calling import Calling
from mcp_server.sessions.compaction import Compaction
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.events import answered, ran
from mcp_server.sessions.hold import Hold
from mcp_server.sessions.pulse import Pulse
from mcp_server.sessions.transcripts import NeedsCalls, NeedsTurn, SaidAll, next_step, refused_in, repeats, turns_of
from mcp_server.sessions.turns import Turns
from mcp_server.sessions.work import AwaitsChild, AwaitsModel, AwaitsPerson, Rest, key_of


class Drive:
    """Drives one run that this process holds."""

    def __init__(self, deployment: Deployment, calling: Calling, turns: Turns, budgets: Budgets, pulse: Pulse, hold: Hold) -> None:
        self._deployment = deployment
        self._turns = turns
        self._budgets = budgets
        self._pulse = pulse
        self._hold = hold
        self._session = hold.session
        self._calling = calling
        self._compaction = Compaction(deployment)
        self._within = anyio.CancelScope()
        """Ends with the working time."""
        self._entries: tuple[StoredEntry, ...] = ()
        """As far as they were read: the transcript only grows."""

    async def advance(self) -> tuple[Rest, ...] | None:
        """Go on until the run rests or ends. Returns what it waits for; None: it has ended.

        Raises:
            LeaseLost: Another process has it now.
            StoreError: It cannot be written down; nothing further is done.
        """
        if self._hold.run.cancel_requested is not None:
            return await self._hold.end_cancelled(self._hold.run.cancel_requested)
        await self._budgets.tell(self._session, self._hold.run.waits_for)
        await self._hold.resume(self._turns.seconds(self._session) or self._deployment.limits.run_seconds)
        with anyio.move_on_after(self._hold.left()) as self._within:
            try:
                return await self._steps()
            except AnswerAwaited as awaited:
                return await self._rest((AwaitsModel(ask_id=awaited.ask_id),))
            except PersonAwaited as awaited:
                return await self._rest((AwaitsPerson(prompt_id=PromptId(awaited.prompt_id)),))
        # The steps return or raise, so only the clock leads here.
        with anyio.CancelScope(shield=True):
            return await self._hold.end(RunState.EXPIRED, Expired(limit="time", **await self._hold.kept()))

    async def _steps(self) -> tuple[Rest, ...] | None:
        while True:
            entries = await self._read()
            match next_step(entries, frozenset(self._pulse.running)):
                case SaidAll(text=text):
                    return await self._hold.end(RunState.COMPLETED, Completed(result=text, refused=refused_in(entries, self._hold.run.id)))
                case NeedsTurn():
                    limit = self._limit(turns_of(entries, self._hold.run.id)) or await self._budgets.reached(self._session, self._hold.run)
                    if limit is not None:
                        return await self._hold.end(RunState.EXPIRED, Expired(limit=limit, **await self._hold.kept()))
                    if not await self._shortened(entries) and not await self._turn(entries):
                        return None
                case NeedsCalls() as needed:
                    looping = frozenset(call.id for call in needed.calls if repeats(entries, self._hold.run.id, call))
                    parked = await self._calling.make(needed, looping, self._within)
                    if parked:
                        return await self._rest(parked)

    async def _rest(self, waits: tuple[Rest, ...]) -> tuple[Rest, ...]:
        stored = tuple(key_of(wait) for wait in waits if not isinstance(wait, AwaitsModel))  # an ask ends with its process
        await self._hold.save(RunState.WAITING, reason=_waits_for(waits), waits_for=stored)
        return waits

    async def _read(self) -> tuple[StoredEntry, ...]:
        last = self._entries[-1].seq if self._entries else 0
        self._entries += await self._deployment.store.transcript(self._session.id, after=last)
        return self._entries

    # ---- one model turn -------------------------------------------------------------------------

    async def _turn(self, entries: tuple[StoredEntry, ...]) -> bool:
        """False: the run has ended, because no turn could be had."""
        try:
            deadline, self._within.deadline = self._within.deadline, math.inf  # waiting for a place is no work
            async with self._turns.place(self._session) as waited:
                self._within.deadline = deadline + waited
                self._hold.idled(waited)
                turn = await self._turns.turn(self._session, entries, self._hold.trace)
        except ModelError as error:
            long = self._compaction.failure
            words = f"{error} (the transcript is long and could not be shortened: {long})" if long else str(error)
            await self._hold.end(RunState.FAILED, Failed(error=words, **await self._hold.kept()))
            return False
        self._hold.run = replace(self._hold.run, usage=self._hold.run.usage + turn.usage)
        noted = answered(turn)
        happened = self._noted(noted) if noted else ()
        await self._hold.save(
            RunState.RUNNING, entries=(turn,), happened=happened, used=turn.usage, synced=False
        )  # no call is made before a synced write
        return True

    async def _shortened(self, entries: Sequence[StoredEntry]) -> bool:
        """Was the transcript shortened for the model just now?"""
        compacted = await self._compaction.due(self._session, entries, self._hold.trace)
        if compacted is None:
            return False
        self._hold.run = replace(self._hold.run, usage=self._hold.run.usage + compacted.usage)
        words = f"the model's view of the transcript was condensed up to entry {compacted.through} by {compacted.model}"
        await self._hold.save(RunState.RUNNING, entries=(compacted,), happened=self._noted(words), used=compacted.usage)
        return True

    def _noted(self, words: str) -> tuple[AuditEvent, ...]:
        return (ran(self._deployment.clock(), self._hold.run, self._hold.path, words),)

    def _limit(self, turns: int) -> str | None:
        steps = self._turns.steps(self._session) or self._deployment.limits.steps
        if turns >= steps:
            return f"{steps} steps"
        tokens = self._hold.run.usage.input_tokens + self._hold.run.usage.output_tokens
        return f"{self._deployment.limits.run_tokens} tokens" if tokens >= self._deployment.limits.run_tokens else None


def _waits_for(waits: tuple[Rest, ...]) -> str:
    people = sum(isinstance(wait, AwaitsPerson) for wait in waits)
    children = sum(isinstance(wait, AwaitsChild) for wait in waits)
    words = [
        f"{people} answer(s) of a person" if people else "",
        f"{children} child(ren)" if children else "",
        "a turn of the client's own model, which a call of `task` or `task_status` carries to it" if len(waits) > people + children else "",
    ]
    return "waits for " + " and ".join(word for word in words if word)
