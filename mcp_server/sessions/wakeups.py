"""Who waits for what, inside one process. Waiting holds no coroutine: a waiter is a name and a call to make when its wait is over.

Also a bell for each tree, for requests that look at whatever has changed there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import anyio


class Wakeups:
    """Maps what is waited for (a prompt's or a run's id) to those who wait."""

    def __init__(self) -> None:
        self._waiters: defaultdict[str, dict[str, Callable[[], None]]] = defaultdict(dict)
        self._keys: dict[str, tuple[str, ...]] = {}
        self._bells: dict[str, anyio.Event] = {}

    def wait(self, waiter: str, keys: Iterable[str], call: Callable[[], None]) -> None:
        """`call` once, when the first of `keys` is over. Replaces what `waiter` waited for before."""
        self.forget(waiter)
        self._keys[waiter] = tuple(keys)
        for key in self._keys[waiter]:
            self._waiters[key][waiter] = call

    def forget(self, waiter: str) -> None:
        """It waits for nothing any more."""
        for key in self._keys.pop(waiter, ()):
            waiting = self._waiters.get(key, {})
            waiting.pop(waiter, None)
            if not waiting:
                self._waiters.pop(key, None)

    def waits(self, waiter: str) -> bool:
        """Is it known here as waiting?"""
        return waiter in self._keys

    def over(self, key: str) -> None:
        """What this id names is over: an answered prompt, an ended run."""
        for waiter, call in list(self._waiters.get(key, {}).items()):
            self.forget(waiter)
            call()

    @property
    def awaited(self) -> frozenset[str]:
        """Every id that somebody waits for."""
        return frozenset(self._waiters)

    def bell(self, tree: str) -> anyio.Event:
        """Set at the next change in the tree. Take it before looking, or a change in between is missed."""
        return self._bells.setdefault(tree, anyio.Event())

    def ring(self, tree: str) -> None:
        """Something in the tree has changed."""
        bell = self._bells.pop(tree, None)
        if bell is not None:
            bell.set()

    def ring_all(self) -> None:
        """Something may have changed anywhere."""
        for tree in list(self._bells):
            self.ring(tree)
