"""Owns every run that this process advances. A request never does: it attaches to a run and leaves it.

One task a run that is acting; none for a run that waits. What other processes did is seen by `watch`.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from mcp_server.errors import LeaseLost, StoreError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import FINAL, Prompt, PromptState, RunId, RunRecord, RunState, SessionRecord
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.driving import Driving
from mcp_server.sessions.executor import Advance, Executor, InProcess
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.hold import Hold
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.pulse import Pulse
from mcp_server.sessions.wakeups import Wakeups
from mcp_server.sessions.work import AnyTool, Rest, key_of
from mcp_server.store.protocol import Lease

log = structlog.get_logger(__name__)

LAY_DOWN = 4.0
"""Seconds that laying down a run may take when the server stops; the process is to be gone within five."""


class Supervisor:
    """Starts, wakes, cancels and lays down runs."""

    def __init__(self, deployment: Deployment, executor: Callable[[Advance], Executor] = InProcess) -> None:
        self._deployment = deployment
        self._executor = executor(self.advance)
        self.wakeups = Wakeups()
        self.prompting = Prompting(deployment, self.prompt_changed)
        self.holders: Callable[[Prompt], None] = _nobody
        """Told of each change of a prompt, to ring whichever request holds it."""
        self._active: dict[RunId, tuple[Pulse, anyio.CancelScope]] = {}
        self._activity: dict[SessionId, str] = {}
        self._group: TaskGroup | None = None
        self._stopping = False
        self._idle = anyio.Event()
        self._driving = Driving(deployment, {}, self.prompting)

    def equip(self, tools: Mapping[str, AnyTool]) -> Gate:
        """Give it its tools. Some of them act on this very supervisor, so they are made after it."""
        self._driving = Driving(self._deployment, tools, self.prompting)
        return self._driving.gate

    # ---- life -----------------------------------------------------------------------------------

    async def open(self, group: TaskGroup) -> None:
        """Take up every unfinished run of this process's workspaces. Runs live in `group`."""
        self._group = group
        self._executor.open(group)
        await self.prompting.refresh()
        await self.take_up(await self._deployment.store.unfinished_runs(workspaces=self._deployment.workspaces))

    async def take_up(self, runs: Sequence[RunRecord]) -> None:
        """Go on with runs that nobody acts on. One whose wait is not over is only listened for: it is not woken to find that out."""
        over = await self._deployment.store.over(tuple({key for run in runs for key in run.waits_for}))
        for run in runs:
            if run.waits_for and run.cancel_requested is None and over.isdisjoint(run.waits_for):
                self._await_keys(run.id, run.waits_for)
            else:
                self.kick(run.id)

    def stop(self) -> None:
        """Take up nothing more, and lay down what acts, so that it can go on elsewhere. Leave `group` afterwards to wait for it."""
        self._stopping = True
        for _, scope in self._active.values():
            scope.cancel()

    async def laid_down(self) -> None:
        """Wait, within the bound, until nothing acts any more."""
        with anyio.move_on_after(LAY_DOWN, shield=True):
            while self._active:
                await self._idle.wait()

    @property
    def acting(self) -> Sequence[RunId]:
        """The runs that act in this process now."""
        return tuple(self._active)

    def kick(self, run_id: RunId) -> None:
        """Have it advanced, or wake it where it acts already. Does nothing once the server stops."""
        acting = self._active.get(run_id)
        if acting is not None:
            acting[0].wake()
        elif not self._stopping and self._group is not None:
            self._executor.deliver(run_id)

    async def advance(self, run_id: RunId) -> None:
        """Take the run as far as it goes now. May be called any number of times, at once and by several processes: one of them acts."""
        if run_id in self._active:
            self.kick(run_id)
        elif not self._stopping:
            scope, pulse = anyio.CancelScope(), Pulse(partial(self._await_keys, run_id))
            self._active[run_id] = (pulse, scope)
            await self._drive(run_id, pulse, scope)

    def aside(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something that nobody waits for. What goes wrong with it is logged and no more."""
        if not self._stopping and self._group is not None:
            self._group.start_soon(_unheeded, job)

    def _await_keys(self, run_id: RunId, keys: Sequence[str]) -> None:
        self.wakeups.wait(run_id, keys, partial(self.kick, run_id))

    # ---- one run --------------------------------------------------------------------------------

    async def _drive(self, run_id: RunId, pulse: Pulse, scope: anyio.CancelScope) -> None:
        try:
            await self._held(run_id, pulse, scope)
        except* LeaseLost:
            log.info("another process has taken the run", run=run_id)
        except* StoreError as errors:
            log.error("the run could not be written down", run=run_id, errors=_texts(errors))
        except* Exception as errors:
            log.error("the run could not even be ended", run=run_id, exc_info=errors)
        finally:
            self._active.pop(run_id, None)
            self._idle.set()
            self._idle = anyio.Event()
        if pulse.take_missed():
            self.kick(run_id)

    async def _held(self, run_id: RunId, pulse: Pulse, scope: anyio.CancelScope) -> None:
        store, limits = self._deployment.store, self._deployment.limits
        good_until = self._deployment.steady() + limits.lease_seconds
        lease = await store.claim(run_id, owner=self._deployment.owner, now=self._deployment.clock(), seconds=limits.lease_seconds)
        if lease is None:
            return
        parked: Sequence[Rest] = ()
        try:
            hold = await self._hold_of(run_id, pulse, lease, good_until)
            if hold is not None:
                with self._deployment.telemetry.advance(hold.session, hold.run, hold.path) as told:
                    hold.trace = told.trace
                    parked = await self._acting(pulse, hold, scope)
                    told.rests(hold.run.state)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(LAY_DOWN):
                await store.release(lease)
        if parked:
            await self._rest(run_id, parked)

    async def _hold_of(self, run_id: RunId, pulse: Pulse, lease: Lease, good_until: float) -> Hold | None:
        run = await self._deployment.store.run(run_id)
        session = await self._deployment.store.session(run.session_id, run.principal) if run else None
        if run is None or session is None or run.state in FINAL:
            return None
        chain = await self._deployment.store.chain(session.id)
        pulse.tell = partial(self._note, tuple(record.id for record in chain))
        hold = Hold(self._deployment, pulse, lease, session, run, tuple(record.agent for record in chain))
        hold.good_until = good_until
        return hold

    async def _acting(self, pulse: Pulse, hold: Hold, scope: anyio.CancelScope) -> Sequence[Rest]:
        parked: Sequence[Rest] | None = None
        try:
            with scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._renew, hold, scope)
                    parked = await self._driving.advance(pulse, hold)
                    group.cancel_scope.cancel()
        except* StoreError:
            raise
        except* Exception as errors:  # a fault of ours ends this run, not the server, which would meet it again at its next start
            log.error("a run failed in a way nobody expected", run=hold.run.id, exc_info=errors)
            await hold.end_broken()
        if scope.cancel_called:
            await self._stopped(hold)
        await self._after(hold.run.id)
        return parked or ()

    async def _renew(self, hold: Hold, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(self._deployment.limits.lease_seconds / 3)
            try:
                await hold.renew()
            except LeaseLost:
                log.warning("lost the lease of a run", run=hold.run.id)
                scope.cancel()
                return

    async def _stopped(self, hold: Hold) -> None:
        """The run was stopped from outside: cancelled, or laid down because the server stops."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(LAY_DOWN):
            run = await self._deployment.store.run(hold.run.id)
            if run is None or run.state in FINAL:
                return
            if run.cancel_requested is not None:
                await hold.end_cancelled(run.cancel_requested)
            elif self._stopping:
                await hold.set_down()

    async def _rest(self, run_id: RunId, parked: Sequence[Rest]) -> None:
        """It waits and holds no task. What was over before it was listened for would be missed: look once more."""
        keys = [key_of(wait) for wait in parked]
        self._await_keys(run_id, keys)
        for key in keys:
            if await self.is_over(key):
                self.wakeups.over(key)

    async def is_over(self, key: str) -> bool:
        """Is what this id names over: a prompt that is open no more, a turn that is answered, a run that has ended?"""
        if key.startswith("prm_"):
            return key not in self.prompting.open_ones
        if key.startswith(self._deployment.asks.KIND):
            return not await self._deployment.asks.stands(key, self._deployment.store)
        run = await self._deployment.store.run(RunId(key))
        return run is None or run.state in FINAL

    async def _after(self, run_id: RunId) -> None:
        """If the run has ended: its prompts go, its children go, its caller is told."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(LAY_DOWN):
            run = await self._deployment.store.run(run_id)
            if run is None or run.state not in FINAL:
                return
            await self._tidy(run)
            self._deployment.background.end(run.session_id)
            self.wakeups.forget(run_id)
            self.wakeups.over(run_id)
            self.wakeups.ring(run.session_id)
            self._activity.pop(run.session_id, None)

    async def _tidy(self, run: RunRecord) -> None:
        self._deployment.asks.drop(run.session_id)
        for prompt in await self._deployment.store.prompts(session_id=run.session_id, state=PromptState.OPEN):
            await self.prompting.close(prompt, PromptState.WITHDRAWN, f"the run that asked has ended ({run.state.value})")
        for child in await self._deployment.store.children(run.session_id):
            known = self._deployment.rulebook.definitions(run.workspace).get(child.agent)
            outlives = known is not None and known.on_parent_end == "keep" and run.state is not RunState.CANCELLED
            if not outlives:
                await self.cancel(child.id, "the end of its parent")

    # ---- cancelling -----------------------------------------------------------------------------

    async def cancel(self, session_id: SessionId, by: str) -> int:
        """End the session's run and every run below it, whoever holds them. Returns how many were asked to end."""
        asked = await self._deployment.store.request_cancel_below(session_id, by)
        for run_id in asked:
            self.end_here(run_id)
        return len(asked)

    def end_here(self, run_id: RunId) -> None:
        """A cancel was stored: act on it, if the run is this process's or nobody's."""
        acting = self._active.get(run_id)
        if acting is None:
            self.wakeups.forget(run_id)
            self.kick(run_id)
        else:
            acting[1].cancel()
            acting[0].wake()  # it may be past what can be cancelled, on its way to rest: then it is looked at once more

    # ---- what has changed -----------------------------------------------------------------------

    def prompt_changed(self, prompt: Prompt) -> None:
        """It was opened, joined, or is open no more: those who wait for it go on, those who may show it look again."""
        if prompt.id not in self.prompting.open_ones:
            self.wakeups.over(prompt.id)
            self._deployment.herald.over(prompt.id)
        self.wakeups.ring(*prompt.chain)
        self.holders(prompt)

    def _note(self, chain: tuple[SessionId, ...], text: str) -> None:
        for session_id in chain:
            self._activity[session_id] = text

    def activity(self, session: SessionRecord) -> str:
        """The same for a child, or its title where nothing was heard."""
        return self.heard(session.id) or session.title

    def heard(self, session_id: SessionId) -> str:
        """What was last heard of the session or one below it, in a few words; empty: nothing here."""
        return self._activity.get(session_id, "")


def _nobody(prompt: Prompt) -> None:
    """Before there are requests, none holds a prompt."""


async def _unheeded(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        await job()
    except Exception:  # nobody waits for it
        log.exception("a job that nobody waits for failed")


def _texts(errors: BaseExceptionGroup[Exception]) -> list[str]:
    """What was raised, out of the groups that it was raised in."""
    return [text for error in errors.exceptions for text in (_texts(error) if isinstance(error, BaseExceptionGroup) else [str(error)])]
