"""Who sees to it that runs go on. One method, ids only: an engine that spans machines has no more to do than this one.

`advance` is delivered at least once. It may come twice, late, out of order, or to several processes at the same time: the store's lease
and fence let one of them act, and what is stored tells it what is left to do. Nothing is held while a run waits: the prompt or the child
that it waits for has it delivered again when it is over, and so has a cancel.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from anyio.abc import TaskGroup

from mcp_server.records import RunId

Advance = Callable[[RunId], Coroutine[Any, Any, None]]
"""Take this run as far as it goes now."""


class Executor(Protocol):
    """Delivers `advance`. Not the one who acts, nor the one who knows what is due."""

    def open(self, group: TaskGroup) -> None:
        """From now on, until `group` ends. What was asked for before need not be delivered: whoever starts looks through the store."""
        ...

    def deliver(self, run_id: RunId) -> None:
        """Have `advance` called for this run, soon and at least once. Never waits, never raises."""
        ...


class InProcess:
    """The default: each delivery is a task of this process's loop, at once. What dies with the process is found in the store."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._group: TaskGroup | None = None

    def open(self, group: TaskGroup) -> None:
        """See `Executor`."""
        self._group = group

    def deliver(self, run_id: RunId) -> None:
        """See `Executor`."""
        if self._group is not None:
            self._group.start_soon(self._advance, run_id)
