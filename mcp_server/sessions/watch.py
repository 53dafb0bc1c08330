"""Sees what other processes wrote, and what has lapsed: answers given elsewhere, cancels, runs that nobody advances any more."""

import structlog

from mcp_server.records import FINAL
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.store.polling import poll

log = structlog.get_logger(__name__)

POLL = 0.2
"""Seconds between two looks at the store's change number: well under what a person notices, and cheap."""


class Watch:
    """Polls one store for one supervisor."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._seen = -1
        self._sweep_at = 0.0

    async def run(self) -> None:
        """Until cancelled. A store that cannot be read is logged and looked at again."""
        await poll(self._look, every=POLL)

    async def _look(self) -> None:
        await self._supervisor.prompting.lapse()
        self._deployment.asks.lapse(self._deployment.limits.unasked_seconds)
        changed = await self._deployment.store.changed_elsewhere()
        if changed != self._seen:
            await self._catch_up()
            self._seen = changed
        if self._deployment.steady() >= self._sweep_at:
            await self._take_over()
            self._sweep_at = self._deployment.steady() + self._deployment.limits.lease_seconds / 2

    async def _catch_up(self) -> None:
        store, wakeups = self._deployment.store, self._supervisor.wakeups
        await self._supervisor.prompting.refresh()
        asked = [key for key in wakeups.awaited if self._deployment.asks.is_open(key)]  # the store knows nothing of them
        for key in await store.over(tuple(wakeups.awaited.difference(asked))):
            wakeups.over(key)
        for key in asked:
            if await self._supervisor.is_over(key):
                wakeups.over(key)
        for run_id in await store.runs_to_cancel(self._deployment.workspaces):
            self._supervisor.end_here(run_id)
        wakeups.ring_all()

    async def _take_over(self) -> None:
        """Runs that nobody acts on or listens for: their process is gone."""
        store, supervisor = self._deployment.store, self._supervisor
        unheld = await store.unheld_runs(self._deployment.workspaces, now=self._deployment.clock())
        acting = frozenset(supervisor.acting)
        found = [await store.run(run_id) for run_id in unheld if run_id not in acting and not supervisor.wakeups.waits(run_id)]
        await supervisor.take_up([run for run in found if run is not None and run.state not in FINAL])
