"""Who waits for what, inside one process. Waiting holds no coroutine: a waiter is a name and a call to make when its wait is over.

Also bells, for requests that look at a call, a session or a tree each time something of it has changed.
"""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

import anyio


class Wakeups:
    """Maps what is waited for (a prompt's or a run's id) to those who wait."""

    def __init__(self) -> None:
        self._waiters: defaultdict[str, dict[str, Callable[[], None]]] = defaultdict(dict)
        self._keys: dict[str, tuple[str, ...]] = {}
        self._bells: defaultdict[str, set[anyio.Event]] = defaultdict(set)

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

    @contextmanager
    def listening(self, *keys: str) -> Generator[anyio.Event]:
        """An event that is set when one of the keys is rung. Listen before looking, or a change in between is missed."""
        event = anyio.Event()
        for key in keys:
            self._bells[key].add(event)
        try:
            yield event
        finally:
            for key in keys:
                self._bells[key].discard(event)
                if not self._bells[key]:
                    del self._bells[key]

    def ring(self, *keys: str) -> None:
        """What these name has changed: whoever listens looks again."""
        for key in keys:
            for event in self._bells.get(key, ()):
                event.set()

    def ring_all(self) -> None:
        """Something may have changed anywhere."""
        self.ring(*self._bells)
