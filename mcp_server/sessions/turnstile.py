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
        async with self.held(tree) as place:
            yield place.waited

    @asynccontextmanager
    async def held(self, tree: str) -> AsyncGenerator["Place"]:
        """The same, and it may be left for a while."""
        place = Place(self, tree)
        await place.take()
        try:
            yield place
        finally:
            place.give_back()

    async def take(self, tree: str) -> float:
        """One is taken. The seconds that it was waited for."""
        if self._free and not self._waiting:
            self._free -= 1
            return 0.0
        begun, turn = self._steady(), anyio.Event()
        self._waiting.setdefault(tree, deque()).append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.give_back()
            else:
                self._leave(tree, turn)
            raise
        return self._steady() - begun

    def _leave(self, tree: str, turn: anyio.Event) -> None:
        queue = self._waiting[tree]
        queue.remove(turn)
        if not queue:
            del self._waiting[tree]

    def give_back(self) -> None:
        """One is free."""
        tree = next(iter(self._waiting), None)
        if tree is None:
            self._free += 1
            return
        queue = self._waiting.pop(tree)
        turn = queue.popleft()
        if queue:
            self._waiting[tree] = queue  # behind the others
        turn.set()


class Place:
    """One of them."""

    def __init__(self, turnstile: Turnstile, tree: str) -> None:
        self._turnstile = turnstile
        self._tree = tree
        self._held = False
        self.waited = 0.0
        """Seconds, at first."""

    async def take(self) -> None:
        """Wait for it."""
        self.waited = await self._turnstile.take(self._tree)
        self._held = True

    def give_back(self) -> None:
        """As far as it is held."""
        if self._held:
            self._held = False
            self._turnstile.give_back()

    @asynccontextmanager
    async def left(self) -> AsyncGenerator[None]:
        """Somebody else may have it inside. Whoever is cut short there does not come back to it."""
        self.give_back()
        yield
        await self.take()
