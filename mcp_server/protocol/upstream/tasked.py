"""The tasks that are followed over one connection: what its server says of one by itself goes to the call that it was made of, and to no
other, whoever else uses the connection.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp_types import ProgressNotificationParams

from mcp_server.protocol.upstream.progress import Progress
from mcp_server.protocol.upstream.task_wire import RELATED, KnowsTasks, Told
from mcp_server.protocol.upstream.underway import Underway


@dataclass(slots=True, kw_only=True)
class Followed:
    """One task, as whoever follows it is told of it."""

    task_id: str
    call: Underway
    progress: Progress
    token: str
    """What its server names in news of its progress, up to 2025-11-25. Nobody else's server knows it."""
    woken: anyio.Event = field(default_factory=anyio.Event)
    """There is a reason to look at it now."""

    def wake(self) -> None:
        """Have it looked at."""
        woken, self.woken = self.woken, anyio.Event()
        woken.set()


class Tasked:
    """Of one connection."""

    def __init__(self) -> None:
        self.extension = KnowsTasks(self.changed)
        """For the SDK's client."""
        self._followed: dict[str, Followed] = {}

    @contextmanager
    def follow(self, one: Followed) -> Generator[None]:
        """It is followed inside.

        Raises:
            ValueError: Another call has a task of that id.
        """
        if one.task_id in self._followed:
            raise ValueError("two tasks that it made have the same id")
        self._followed[one.task_id] = one
        try:
            yield
        finally:
            del self._followed[one.task_id]

    async def changed(self, told: Told) -> None:
        """The server says that one has changed."""
        if (one := self._followed.get(told.task_id)) is not None:
            one.wake()

    async def progressed(self, params: ProgressNotificationParams) -> None:
        """It says how far something is."""
        for one in tuple(self._followed.values()):
            if one.token == params.progress_token:
                await one.progress(params.progress, params.total, params.message)

    def call_of(self, meta: Mapping[str, Any] | None) -> Underway | None:
        """The call that a message of the server's is about. None: it does not say, or no task of that id is followed."""
        match (meta or {}).get(RELATED):
            case {"taskId": str() as task_id}:
                one = self._followed.get(task_id)
                return None if one is None else one.call
            case _:
                return None
