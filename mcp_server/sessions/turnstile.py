"""So many at once, and each tree in its turn: a tree with a hundred children does not keep one with a single child waiting.

Of one process. Nobody holds a place while waiting for a person or a child.
"""

import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio


class Turnstile:
    """Places that are taken, and given to the trees that wait for one in turn."""

    def __init__(self, places: int, steady: Callable[[], float] = time.monotonic) -> None:
        self._free = places
        self._steady = steady
        self._waiting: dict[str, deque[anyio.Event]] = {}
        """By tree, the one whose turn is next first."""

    @asynccontextmanager
    async def place(self, tree: str) -> AsyncGenerator[float]:
        """A place for as long as the block lasts. Gives the seconds that it was waited for."""
        waited = await self._take(tree)
        try:
            yield waited
        finally:
            self._give_back()

    async def _take(self, tree: str) -> float:
        if self._free and not self._waiting:
            self._free -= 1
            return 0.0
        begun, turn = self._steady(), anyio.Event()
        self._waiting.setdefault(tree, deque()).append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self._give_back()
            else:
                self._leave(tree, turn)
            raise
        return self._steady() - begun

    def _leave(self, tree: str, turn: anyio.Event) -> None:
        queue = self._waiting[tree]
        queue.remove(turn)
        if not queue:
            del self._waiting[tree]

    def _give_back(self) -> None:
        tree = next(iter(self._waiting), None)
        if tree is None:
            self._free += 1
            return
        queue = self._waiting.pop(tree)
        turn = queue.popleft()
        if queue:
            self._waiting[tree] = queue  # behind the others
        turn.set()
