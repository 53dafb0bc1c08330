"""Sending what was told, when the server ends, within the time that it has: the process is to be gone within five seconds."""

import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from mcp_server.telemetry.base import SILENT, Scrape, Telemetry

Flush = Callable[[], None]
"""Sends what there is. Blocks, and may take as long as it likes: nobody waits for its end."""

FIRST = 0.8
"""Seconds for what was told until the end began. A signal leaves no other time."""
WITHIN = 4.8
"""Seconds from the beginning of the end until the process is gone: whatever laying down the runs leaves of them is for the rest."""
LAST = 0.2
"""Seconds that are left for that in any case."""
LOOK = 0.01
"""Seconds between two looks at the thread that sends."""


def told_nothing() -> None:
    """Where nobody listens there is nothing to send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who is told what a process does."""

    telemetry: Telemetry = SILENT
    flush: Flush = told_nothing
    """Sends it, when the process ends."""
    scrape: Scrape | None = None
    """Reads the numbers here. None: nobody does."""


NOBODY = Listeners()


class Ending:
    """One server's end."""

    def __init__(self, flush: Flush) -> None:
        self._flush = flush
        self._began: float | None = None

    async def first(self, end: Callable[[], Awaitable[None]]) -> None:
        """End, and send what was told until now. May be called twice."""
        self._began = self._began or time.monotonic()
        await end()
        await self._sent(FIRST)

    @asynccontextmanager
    async def last(self) -> AsyncGenerator[None]:
        """Around everything that tells: sends what was told while it ended."""
        try:
            yield
        finally:
            left = WITHIN if self._began is None else WITHIN - (time.monotonic() - self._began)
            with anyio.CancelScope(shield=True):
                await self._sent(max(left, LAST))

    async def _sent(self, seconds: float) -> None:
        """The thread is a daemon: a collector that does not answer keeps no process alive."""
        if self._flush is told_nothing:
            return
        thread = threading.Thread(target=self._flush, name="telemetry", daemon=True)
        thread.start()
        with anyio.move_on_after(seconds):
            while thread.is_alive():  # noqa: ASYNC110 - a thread that may hang has nobody to ring an event
                await anyio.sleep(LOOK)
