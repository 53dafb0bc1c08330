"""The client's side of `io.modelcontextprotocol/tasks`: what a host that knows the extension sends, and what it gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp_types import (
    CallToolResult,
    NotificationParams,
    Request,
    RequestParams,
    Result,
    SubscriptionFilter,
    SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
)
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from mcp_server.protocol.tasks_wire import IDENTIFIER
from tests.bounds import LONG

LOOK = 0.02
"""Seconds between two looks: a test has no person's patience to spare."""

OVER = ("completed", "failed", "cancelled")


class Created(Result):
    """What a call is answered with in place of its result."""

    result_type: Literal["task"]
    task_id: str
    status: str
    status_message: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int


class TaskParams(RequestParams):
    task_id: str


class UpdateParams(TaskParams):
    input_responses: dict[str, Any]


class Get(Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class Update(Request[UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class Cancel(Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class Anything(Result):
    """A result as it came."""

    model_config = ConfigDict(extra="allow")


class Told(NotificationParams):
    """What `notifications/tasks` says."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)

    task_id: str
    status: str


class KnowsTasks(ClientExtension):
    """Declares the extension. A call that answers with a task is handed to the test as it is."""

    identifier = IDENTIFIER

    def __init__(self) -> None:
        self.told: list[Told] = []

    def notifications(self) -> tuple[NotificationBinding[Told], ...]:
        return (NotificationBinding(method="notifications/tasks", params_type=Told, handler=self._hear),)

    async def _hear(self, told: Told) -> None:
        self.told.append(told)

    def claims(self) -> tuple[ResultClaim[Created], ...]:
        return (ResultClaim(result_type="task", model=Created, resolve=self._resolve),)

    async def _resolve(self, created: Created, context: ClaimContext) -> CallToolResult:
        raise AssertionError("tests look at tasks themselves")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUser:
    """One client that may hold tasks."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> CallToolResult | Created:
        """The result, or the task in its place."""
        result = await self.client.session.call_tool(tool, arguments, allow_claimed=True)
        assert isinstance(result, CallToolResult | Created), result
        return result

    async def task(self, tool: str, **arguments: Any) -> str:
        """The handle of a call that must have answered with one."""
        created = await self.call(tool, **arguments)
        assert isinstance(created, Created), created
        return created.task_id

    async def get(self, task_id: str) -> dict[str, Any]:
        return await self._send(Get(params=TaskParams(task_id=task_id)))

    async def update(self, task_id: str, responses: Mapping[str, Any]) -> dict[str, Any]:
        return await self._send(Update(params=UpdateParams(task_id=task_id, input_responses=dict(responses))))

    async def cancel(self, task_id: str) -> dict[str, Any]:
        return await self._send(Cancel(params=TaskParams(task_id=task_id)))

    async def listen(self, *task_ids: str) -> None:
        """Until cancelled: the stream that tells of these tasks."""
        wanted = SubscriptionFilter.model_validate({"taskIds": list(task_ids)})
        await self._send(SubscriptionsListenRequest(params=SubscriptionsListenRequestParams(notifications=wanted)))

    async def _send(self, request: Request[Any, Any]) -> dict[str, Any]:
        result = await self.client.session.send_request(request, Anything)
        return result.model_dump(by_alias=True, exclude_unset=True, exclude={"meta"})

    async def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """Poll until it has one of these statuses. Bound it."""
        with anyio.fail_after(LONG):
            while True:
                task = await self.get(task_id)
                if task["status"] in statuses:
                    return task
                assert task["status"] not in OVER, task
                await anyio.sleep(LOOK)

    async def until_another(self, task_id: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """Poll until it shows prompts, and none of those that are known."""
        with anyio.fail_after(LONG):
            while True:
                shown = asked(await self.until(task_id, "input_required"))
                if shown.keys().isdisjoint(known):
                    return shown
                await anyio.sleep(LOOK)

    async def until_over(self, task_id: str) -> dict[str, Any]:
        """Poll until it has ended."""
        return await self.until(task_id, *OVER)


def accepts(decision: str = "allow_once", words: str | None = None) -> dict[str, Any]:
    """A person's answer to a form, as a client sends it."""
    return {"action": "accept", "content": {"decision": decision} | ({} if words is None else {"words": words})}


def asked(task: Mapping[str, Any]) -> dict[str, Any]:
    """The prompts that a task shows: key to request."""
    assert task["status"] == "input_required", task
    return task["inputRequests"]


def text_of(task: Mapping[str, Any]) -> str:
    """The text of a completed task's result."""
    assert task["status"] == "completed", task
    return "\n".join(block["text"] for block in task["result"]["content"])
