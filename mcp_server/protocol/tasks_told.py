"""`notifications/tasks`: a client that listens is told how its tasks stand, and need not poll. 2026-07-28, on `subscriptions/listen`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import anyio
from mcp_types import Notification, ServerNotification, SubscriptionFilter

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.calls import Request
from mcp_server.protocol.listening import Meta, Send
from mcp_server.protocol.tasks import Tasks
from mcp_server.protocol.tasks_wire import require_tasks
from mcp_server.sessions.sight import Sight

FIELD = "taskIds"
"""Of the filter: the tasks that a stream is about."""

PACE = 0.5
"""Seconds at least between two looks: a child at work says something several times a second."""

MOST = 100
"""Tasks that one stream may name."""


class TaskNotification(Notification[dict[str, Any], Literal["notifications/tasks"]]):
    """A task, whole, as `tasks/get` would tell it."""

    method: Literal["notifications/tasks"] = "notifications/tasks"


class TaskSource:
    """A `Source`: how the tasks that a stream names stand."""

    def __init__(self, tasks: Tasks, sight: Sight) -> None:
        self._tasks = tasks
        self._sight = sight

    async def watch(self, ctx: Request, wanted: SubscriptionFilter) -> "TaskWatching":
        """Those that are the caller's; the rest is left out of the acknowledgement. Raises where the client declares no tasks."""
        named: object = (wanted.model_extra or {}).get(FIELD)
        ids = [one for one in cast(list[object], named) if isinstance(one, str)] if isinstance(named, list) else []
        if ids:
            require_tasks(ctx)
        found: list[str] = []
        for task_id in dict.fromkeys(ids[:MOST]):
            try:
                found.append((await self._tasks.found(ctx, task_id)).call_id)
            except NoSuchHandle:
                continue
        return TaskWatching(self._tasks, self._sight, ctx, found)


class TaskWatching:
    """See `Watching`."""

    def __init__(self, tasks: Tasks, sight: Sight, ctx: Request, ids: Sequence[str]) -> None:
        self._tasks = tasks
        self._sight = sight
        self._ctx = ctx
        self._told: dict[str, Mapping[str, Any] | None] = dict.fromkeys(ids)

    @property
    def honored(self) -> Mapping[str, Any]:
        """See `Watching.honored`."""
        return {FIELD: list(self._told)} if self._told else {}

    async def tell(self, send: Send, meta: Meta) -> None:
        """How each stands now, and again after each change. One that has ended is told once more and then not looked at."""
        seen = -1
        while self._told:
            seen = await self._sight.change(seen)
            for task_id in tuple(self._told):
                await self._look(task_id, send, meta)
            await anyio.sleep(PACE)
        await anyio.sleep_forever()

    def end(self) -> None:
        """Nothing is held."""

    async def _look(self, task_id: str, send: Send, meta: Meta) -> None:
        try:
            promised = await self._tasks.found(self._ctx, task_id)
        except NoSuchHandle:  # kept no longer
            del self._told[task_id]
            return
        task = await self._tasks.seen(self._ctx, promised)
        if task != self._told[task_id]:
            self._told[task_id] = task
            await send(cast(ServerNotification, TaskNotification(params={**task, "_meta": meta})))
        if promised.ended is not None or promised.fault is not None:
            del self._told[task_id]
