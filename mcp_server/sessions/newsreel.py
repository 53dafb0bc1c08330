"""What a client's call tells while it acts, kept until whoever attends to it has passed it on."""

from collections import deque
from collections.abc import Sequence

import anyio

from mcp_server.tools.base import Step
from mcp_server.tools.hearing import Level, Logged, wanted

MOST = 64
"""Steps that wait to be passed on. What is older is told to nobody: only how far it is now matters."""

MOST_LOGGED = 64
"""Log messages likewise. A client that reads no faster loses the oldest."""


class Newsreel:
    """Of one call. Steps are numbered from 1."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=MOST)
        self._count = 0
        self._changed = anyio.Event()

    @property
    def words(self) -> str:
        """The last of it; empty: nothing was told."""
        return self._steps[-1].words if self._steps else ""

    async def tell(self, step: Step) -> None:
        """It has come so far."""
        self._steps.append(step)
        self._count += 1
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def after(self, number: int) -> tuple[Sequence[Step], int]:
        """Those after the one of that number, and the number of the last."""
        fresh = max(0, self._count - number)
        return list(self._steps)[len(self._steps) - min(fresh, len(self._steps)) :], self._count

    async def wait(self, number: int) -> None:
        """Until there is one after that."""
        while self._count <= number:
            await self._changed.wait()


class Earshot:
    """Of one call. See `Hearer`."""

    def __init__(self) -> None:
        self.level: Level | None = None
        """What the request that is attached wants to hear."""
        self._kept: deque[Logged] = deque(maxlen=MOST_LOGGED)
        self._some = anyio.Event()

    def hear(self, logged: Logged) -> None:
        """See `Hearer`."""
        if wanted(logged.level, self.level):
            self._kept.append(logged)
            self._some.set()

    def take(self) -> Sequence[Logged]:
        """What waits. Each is given out once."""
        if not self._kept:
            return ()
        kept, self._some = tuple(self._kept), anyio.Event()
        self._kept.clear()
        return kept

    async def wait(self) -> None:
        """Until something does."""
        await self._some.wait()
