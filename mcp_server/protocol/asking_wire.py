"""One thing at a time before a person on one connection, up to 2025-11-25: a form, or a link. It is taken away when its prompt is closed
elsewhere.
"""

from collections.abc import Awaitable, Callable

import anyio

from mcp_server.protocol.asking import Visit
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.front import Ended


class Wire:
    """One request's use of its connection."""

    def __init__(self, visit: Visit, lock: anyio.Lock) -> None:
        self._visit = visit
        self._lock = lock
        self.ended: Ended | None = None
        """The end of the call, where that was what took the prompt away."""

    async def show(self, prompt: Prompt, put_off: frozenset[PromptId], put: Callable[[], Awaitable[None]]) -> None:
        """Wait for the connection to be free, and `put` the prompt while it is open."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, prompt, put_off, group.cancel_scope)
            async with self._lock:
                # Another call of this connection may have had it answered while this one queued.
                if await self._visit.front.show(prompt.id) is not None:
                    await put()
            group.cancel_scope.cancel()

    async def _watch(self, prompt: Prompt, put_off: frozenset[PromptId], shown: anyio.CancelScope) -> None:
        """Withdraw what is shown, or leave the queue, once the prompt is open no more or the server is ending."""
        visit = self._visit
        seen: frozenset[str] = frozenset({prompt.id, *put_off})
        while True:
            settled = await visit.front.settle(visit.root, visit.call_id, seconds=visit.timing.form_life, shown=tuple(seen))
            if isinstance(settled, Ended):
                self.ended = settled
                break
            seen = settled.ids
            if settled.parting or prompt.id not in seen:
                break
        shown.cancel()
