"""The working time of one run stands still, and the run waits, while every call that it has under way waits for a person."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf

import anyio

from mcp_server.records import RunState
from mcp_server.sessions.hold import Hold

LAST_WORDS = 4.0
"""Seconds for writing down that the run goes on."""

REASON = "waits for what another MCP server asks a person"


class Halt:
    """Of one turn's calls."""

    def __init__(self, hold: Hold, within: anyio.CancelScope) -> None:
        self._hold = hold
        self._within = within
        """Ends with the working time."""
        self._flying = 0
        self._asking = 0
        self._left = 0.0
        self._halted = False
        self._turn = anyio.Lock()

    async def flying(self, calls: int) -> None:
        """So many are under way now."""
        self._flying = calls
        await self._look()

    @asynccontextmanager
    async def asking(self) -> AsyncGenerator[None]:
        """One of them waits for a person inside."""
        self._asking += 1
        try:
            await self._look()
            yield
        finally:
            self._asking -= 1
            # The wait alone may have been cut short, and the run go on.
            with anyio.move_on_after(LAST_WORDS, shield=True):
                await self._look()

    async def _look(self) -> None:
        async with self._turn:
            halts = 0 < self._flying == self._asking
            if halts == self._halted:
                return
            self._halted = halts
            if halts:
                self._left, self._within.deadline = self._within.deadline - anyio.current_time(), inf
                self._hold.halt()
                await self._hold.save(RunState.WAITING, reason=REASON, synced=False)
            else:
                self._within.deadline = anyio.current_time() + self._left
                self._hold.go_on()
                await self._hold.save(RunState.RUNNING, synced=False)
