"""Tasks of other servers on the wire: the extension of 2026-07-28, and what 2025-11-25 had of them. Either is read into one shape."""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp_types import CallToolResult, InputRequest, Request, RequestParams, Result
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from mcp_server.protocol.tasks_wire import IDENTIFIER, Status, TaskParams, UpdateParams

RELATED = "io.modelcontextprotocol/related-task"
"""Of `_meta`, up to 2025-11-25: the task that a message of the server's is about."""

STATUS = "notifications/tasks/status"

LONGEST_ID = 1000
"""Characters. It is sent with each look, over HTTP in a header too."""

OVER: frozenset[Status] = frozenset(("completed", "failed", "cancelled"))

LEAST_SECONDS, MOST_SECONDS = 0.05, 60.0
"""Between two looks at a task, whatever its server wants: neither so often that it is a flood, nor so seldom that nobody would notice
what it asks.
"""


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """How is it?"""

    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class UpdateTask(Request[UpdateParams, Literal["tasks/update"]]):
    """From 2026-07-28 on: answers to what it asks."""

    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class TaskResult(Request[TaskParams, Literal["tasks/result"]]):
    """Up to 2025-11-25: what it came to, once it has come to something."""

    method: Literal["tasks/result"] = "tasks/result"
    name_param = "taskId"


class CancelTask(Request[TaskParams, Literal["tasks/cancel"]]):
    """It is wanted no more."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class Anything(Result):
    """A result as it came."""

    model_config = ConfigDict(extra="allow")

    @property
    def said(self) -> dict[str, Any]:
        """All of it."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class Handle(Anything):
    """From 2026-07-28 on: what a call is answered with in place of its result."""

    result_type: Literal["task"]


class Told(RequestParams):
    """Up to 2025-11-25: that something of a task has changed. What, the next look tells."""

    model_config = ConfigDict(populate_by_name=True)

    task_id: Annotated[str, Field(alias="taskId")]


class Task(BaseModel):
    """A task as its server told it last."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    task_id: Annotated[str, Field(alias="taskId", min_length=1, max_length=LONGEST_ID)]
    status: Status
    words: Annotated[str | None, Field(alias="statusMessage")] = None
    interval: Annotated[float | None, Field(validation_alias=AliasChoices("pollIntervalMs", "pollInterval"))] = None
    """Milliseconds between two looks, as the server wants them."""
    asks: Annotated[dict[str, InputRequest], Field(alias="inputRequests")] = {}
    """From 2026-07-28 on: what it waits for, by keys that it uses once."""
    result: dict[str, Any] | None = None
    """From 2026-07-28 on, where it is completed."""
    error: dict[str, Any] | None = None
    """From 2026-07-28 on, where it failed."""

    def pause(self, otherwise: float) -> float:
        """Seconds until the next look; `otherwise` where the server has no wish that makes sense."""
        wished = self.interval
        if wished is None or not math.isfinite(wished) or wished < 0:
            return otherwise
        return min(max(wished / 1000, LEAST_SECONDS), MOST_SECONDS)


def task_in(said: Mapping[str, Any], task_id: str | None = None) -> Task:
    """The task that a server told. `task_id`: it is this one.

    Raises:
        ValueError: It is none, or another one. The text says what is wrong, and holds nothing of the server's.
    """
    try:
        task = Task.model_validate(said)
    except (ValidationError, RecursionError) as error:
        places = error.errors(include_url=False, include_input=False) if isinstance(error, ValidationError) else []
        about = ", ".join(sorted({str(each["loc"][0]) for each in places if each["loc"]})[:5])
        raise ValueError(f"what it says of the task is not of the protocol{f' ({about})' if about else ''}") from None
    if not task.task_id.isprintable():
        raise ValueError("the task has an id that cannot be sent")
    if task_id not in (None, task.task_id):
        raise ValueError("asked about one task, it told of another")
    return task


class KnowsTasks(ClientExtension):
    """Says from 2026-07-28 on that a call may be answered with a task, and hears up to 2025-11-25 that one has changed. There a client says
    something of tasks only where it has some itself.
    """

    identifier = IDENTIFIER

    def __init__(self, told: Callable[[Told], Awaitable[None]]) -> None:
        self._told = told

    def claims(self) -> tuple[ResultClaim[Handle], ...]:
        """A handle is a result that a call may have."""
        return (ResultClaim(result_type="task", model=Handle, resolve=_unasked),)

    def notifications(self) -> tuple[NotificationBinding[Told], ...]:
        """That a task has changed."""
        return (NotificationBinding(method=STATUS, params_type=Told, handler=self._told),)


async def _unasked(handle: Handle, context: ClaimContext) -> CallToolResult:
    raise RuntimeError("a task came where none was to be followed")
