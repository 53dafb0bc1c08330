"""Telling a client how far its call is: what a tool counts as it counts it, and a word every few seconds in any case, so that no host
takes a call for dead.
"""

import math

import anyio
import structlog
from mcp.server.session import ServerSession

from mcp_server.protocol.asking import Visit

log = structlog.get_logger("protocol")

_NEWS = 1.0
"""Seconds at least between two messages that only say where a call is: more often is not read."""


class Telling:
    """One request's. The SDK sends nothing where the client gave no token."""

    def __init__(self, session: ServerSession, visit: Visit) -> None:
        self._session = session
        self._visit = visit
        self._told = -math.inf
        """The number that was told last. The protocol has it that numbers only grow."""
        self._total: float | None = None
        self._counts = False
        self._words = ""
        self._told_at = anyio.current_time()
        self._heard = 0
        self._choked = False
        self._one_at_a_time = anyio.Lock(fast_acquire=True)

    async def run(self) -> None:
        """Until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._where_it_is)
            await self._as_it_counts()

    async def rest(self) -> None:
        """What was counted and not yet told."""
        async with self._one_at_a_time:
            steps, self._heard = self._visit.front.steps(self._visit.call_id, self._heard)
            for step in steps:
                self._words, self._total, self._counts = step.words, step.total, step.done is not None
                await self._tell(step.done, step.text)

    async def _as_it_counts(self) -> None:
        while True:
            await self._visit.front.step(self._visit.call_id, self._heard)
            await self.rest()

    async def _where_it_is(self) -> None:
        """News within a second, and a message every few seconds in any case."""
        every = self._visit.timing.progress_every
        while True:
            await anyio.sleep(min(every, _NEWS))
            words = self._visit.front.progress(self._visit.call_id)
            if words != self._words or anyio.current_time() - self._told_at >= every:
                self._words = words
                await self._tell(None, words)

    async def _tell(self, done: float | None, words: str) -> None:
        if self._choked:
            return
        self._told, self._told_at = self._next(done), anyio.current_time()
        try:
            await self._session.report_progress(self._told, self._total, words or None)
        except Exception as error:  # a host that chokes on progress must not end the call
            log.info("progress could not be told", exc_info=error)
            self._choked = True

    def _next(self, done: float | None) -> float:
        if done is not None and done > self._told:
            return done
        if self._counts:
            return math.nextafter(self._told, math.inf)
        return max(0.0, self._told) + 1.0
