"""The calls of one connection that are under way: whose is what its server says over the connection itself, without a word on which call it
is about. It is the only call's, or of several of one person the oldest one's that takes such words; where several people's are under way
it is nobody's.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

import anyio

from mcp_server.tools.hearing import DEAF, Hearer
from mcp_server.tools.whose import Asking, Whose


@dataclass(slots=True, kw_only=True, eq=False)
class Underway:
    """One call. Its time stands still while a person is asked."""

    whose: Whose
    ask: Asking
    hearer: Hearer
    scope: anyio.CancelScope
    """Ends with its time."""
    asked: int = 0
    """Questions so far."""
    open: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])
    """Those that wait for a person now."""
    _still: int = 0
    _left: float = 0.0

    def hold(self) -> None:
        """A person is asked: no time passes."""
        self._still += 1
        if self._still == 1:
            self._left, self.scope.deadline = self.scope.deadline - anyio.current_time(), inf

    def go_on(self) -> None:
        """Nobody is asked any more."""
        self._still -= 1
        if not self._still:
            self.scope.deadline = anyio.current_time() + self._left


class Calls:
    """Of one connection."""

    def __init__(self) -> None:
        self._calls: list[Underway] = []

    @property
    def every(self) -> Sequence[Underway]:
        """Oldest first."""
        return tuple(self._calls)

    @property
    def of_one(self) -> Sequence[Underway]:
        """Those that such words may be about, oldest first: all, where they are one person's; none, where they are several people's."""
        return self.every if len({call.whose.principal for call in self._calls}) == 1 else ()

    @contextmanager
    def begun(self, whose: Whose, ask: Asking, seconds: float, hearer: Hearer = DEAF) -> Generator[Underway]:
        """A call is under way inside, for so many seconds. What it asks is taken back when it ends."""
        call = Underway(whose=whose, ask=ask, hearer=hearer, scope=anyio.CancelScope(deadline=anyio.current_time() + seconds))
        with self.joined(call):
            try:
                with call.scope:
                    yield call
            finally:
                for scope in call.open:
                    scope.cancel()

    @contextmanager
    def joined(self, call: Underway) -> Generator[None]:
        """A call that was begun over another connection goes on over this one inside."""
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
