"""Sees what other processes wrote, and what has lapsed: answers given elsewhere, cancels, runs that nobody advances any more."""

import anyio
import structlog

from mcp_server.errors import StoreError
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.supervisor import Supervisor

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
        while True:
            await anyio.sleep(POLL)
            try:
                await self._look()
            except StoreError as error:
                log.error("the store cannot be read", error=str(error))

    async def _look(self) -> None:
        await self._supervisor.prompting.lapse()
        changed = await self._deployment.store.changed_elsewhere()
        if changed != self._seen:
            await self._catch_up()
            self._seen = changed
        now = self._deployment.clock()
        if now >= self._sweep_at:
            await self._take_over(now)
            self._sweep_at = now + self._deployment.limits.lease_seconds / 2

    async def _catch_up(self) -> None:
        wakeups = self._supervisor.wakeups
        await self._supervisor.prompting.refresh()
        for key in wakeups.awaited:
            if await self._supervisor.is_over(key):
                wakeups.over(key)
        for run in await self._deployment.store.unfinished_runs(workspaces=self._deployment.workspaces):
            if run.cancel_requested is not None:
                self._supervisor.end_here(run.id)
        wakeups.ring_all()

    async def _take_over(self, now: float) -> None:
        """Runs that nobody acts on or waits for: their process is gone."""
        for run in await self._deployment.store.unfinished_runs(workspaces=self._deployment.workspaces):
            lapsed = run.lease_until is None or run.lease_until <= now
            if lapsed and not self._supervisor.wakeups.waits(run.id) and run.id not in self._supervisor.acting:
                self._supervisor.kick(run.id)
