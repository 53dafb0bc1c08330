"""Events that hold scripted turns until somebody releases them: a file that appears, or a call in the same process."""

from collections import Counter
from pathlib import Path

import anyio

POLL_SECONDS = 0.05
"""How often a held turn looks for its file: soon enough for a test to go on at once, rare enough to cost nothing."""


class Events:
    """Events of one process. Once released, an event stays released, for turns that come later too.

    A test in the same process waits for `held`, looks at what it wanted to see, and calls `release`.
    Another process releases an event by making its file.
    """

    def __init__(self) -> None:
        self._released: dict[str, anyio.Event] = {}
        self._arrived: dict[str, anyio.Event] = {}
        self._held: Counter[str] = Counter()

    def release(self, name: str) -> None:
        """Let every turn go on that is held by this event, now and later."""
        self._released.setdefault(name, anyio.Event()).set()

    async def held(self, name: str, *, turns: int = 1) -> None:
        """Wait until so many turns have come to be held by this event, counted from the start of the process. Bound it yourself."""
        while self._held[name] < turns:
            await self._arrived.setdefault(name, anyio.Event()).wait()

    async def wait(self, name: str, file: Path) -> None:
        """Wait until the event is released or the file exists. Bound it yourself."""
        self._held[name] += 1
        self._arrived.pop(name, anyio.Event()).set()
        released = self._released.setdefault(name, anyio.Event())
        while not released.is_set() and not await anyio.Path(file).exists():
            with anyio.move_on_after(POLL_SECONDS):
                await released.wait()
