"""The live side of a run in this process: what runs now, who wants to wake it, what it last said. Nothing here is stored."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from mcp_server.policy.values import CallId


class Pulse:
    """One run's, from when this process takes it up until it lays it down."""

    def __init__(self, watch: Callable[[Sequence[str]], None]) -> None:
        self.running: set[CallId] = set()
        """Calls that were started here and have not ended."""
        self.watch = watch
        """Told the ids that parked calls wait for, while others of the run still act."""
        self.tell: Callable[[str], None] = _silence
        """Where progress goes, in words."""
        self._ear: Callable[[], None] | None = None
        self._missed = False

    def wake(self) -> None:
        """Something that it waits for is over. Kept until it listens."""
        if self._ear is None:
            self._missed = True
        else:
            self._ear()

    def take_missed(self) -> bool:
        """Was it woken while it did not listen? Asking clears it."""
        missed, self._missed = self._missed, False
        return missed

    @contextmanager
    def hearing(self, ear: Callable[[], None]) -> Generator[None]:
        """Call `ear` at each waking, from now until the end of the block."""
        self._ear = ear
        if self.take_missed():
            ear()
        try:
            yield
        finally:
            self._ear = None


def _silence(text: str) -> None:
    """Before anybody listens, progress goes nowhere."""
