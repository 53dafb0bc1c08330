"""How a call is followed that its server made a task of, in each era. See `Following`."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import anyio
from anyio.abc import TaskGroup
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import (
    URL_ELICITATION_REQUIRED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    InputResponses,
    RequestParamsMeta,
    TaskMetadata,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.errors import ToolFailure
from mcp_server.protocol.tasks_wire import UpdateParams
from mcp_server.protocol.upstream.attending import MOST_A_CALL
from mcp_server.protocol.upstream.following import FIRST_PAUSE, LOOK_SECONDS, Following, Lead
from mcp_server.protocol.upstream.link import Link
from mcp_server.protocol.upstream.rounds import LEFT, answers, elicitations
from mcp_server.protocol.upstream.task_wire import (
    Anything,
    Task,
    TaskResult,
    UpdateTask,
    task_in,
)

LONGER = 3600.0
"""Seconds that a server is asked to keep a task beyond what a call may take, up to 2025-11-25: a person may be asked meanwhile."""

COMING_SECONDS = 1.0
"""That a result has to come which is waited for already, once its task is over. Else it is asked for anew."""


def makes_tasks(client: Client) -> bool:
    """Up to 2025-11-25: may a call ask for a task?"""
    tasks = client.server_capabilities.tasks
    tools = tasks.requests.tools if tasks is not None and tasks.requests is not None else None
    return client.protocol_version not in MODERN_PROTOCOL_VERSIONS and tools is not None and tools.call is not None


async def begun(client: Client, lead: Lead, meta: RequestParamsMeta | None) -> CallToolResult:
    """Up to 2025-11-25: send the call as a task, and follow it."""
    keep = TaskMetadata(ttl=round((lead.link.config.call_seconds + LONGER) * 1000))
    params = CallToolRequestParams(name=lead.order.tool.own_name, arguments=dict(lead.order.arguments), task=keep, _meta=meta)
    said = CallToolRequest(params=params).model_dump(by_alias=True, mode="json", exclude_none=True)
    session = client.session
    # What the SDK sends as a call it takes no task as an answer to.
    raw = await session._dispatcher.send_raw_request(  # pyright: ignore[reportPrivateUsage] - as said above
        said["method"],
        said["params"],
        {
            "request_id": lead.token,
            "on_progress": lead.progress,
            "headers": {MCP_PROTOCOL_VERSION_HEADER: client.protocol_version},
        },
    )
    return await followed(lead, task_in(raw["task"])) if "task" in raw else CallToolResult.model_validate(raw)


async def followed(lead: Lead, first: Task) -> CallToolResult:
    """What the call comes to. `first`: the task as it was when it was made.

    Raises:
        ToolFailure: It came to nothing, by the server's word.
        OutcomeUnknown: Nobody can say.
        MCPError: The server first wants a link opened.
        ValueError: What the server says of it makes no sense.
    """
    modern = lead.link.era in MODERN_PROTOCOL_VERSIONS
    return await (_Modern if modern else _Early)(lead, first.task_id).end(first)


class _Modern(Following):
    """From 2026-07-28 on: a look tells all of it, and its questions are answered by an update."""

    def __init__(self, lead: Lead, task_id: str) -> None:
        super().__init__(lead, task_id)
        self._seen: set[str] = set()
        """Keys of what was asked."""
        self._owed: InputResponses = {}
        """Answers that the server has not said that it has."""
        self._telling = 0
        """Updates under way."""

    def _attend(self, task: Task, group: TaskGroup) -> None:
        fresh = {key: one for key, one in task.asks.items() if key not in self._seen} if task.status == "input_required" else {}
        if fresh:
            self._seen |= set(fresh)
            if len(self._seen) > MOST_A_CALL:
                raise ToolFailure(f"`{self._server}` asked for input {MOST_A_CALL} times and wanted more; its task was given up. {LEFT}")
            group.start_soon(self._answer, elicitations(self._server, fresh))
        elif not self._telling and (owed := {key: one for key, one in self._owed.items() if key in task.asks}):
            group.start_soon(self._tell, owed)

    async def _answer(self, asked: Mapping[str, ElicitRequest]) -> None:
        responses = await answers(asked, partial(self._link.attending.answer, self._lead.call))
        self._owed |= responses
        await self._tell(responses)

    async def _tell(self, responses: InputResponses) -> None:
        """Where it is not taken, the next look shows whether it is still wanted."""
        told = {key: one.model_dump(by_alias=True, mode="json", exclude_none=True) for key, one in responses.items()}
        update = UpdateTask(params=UpdateParams(task_id=self._params.task_id, input_responses=told))
        self._telling += 1
        with suppress(MCPError, ToolFailure, ValueError):
            await self._link.look(update, Anything, LOOK_SECONDS)
            self._owed = {key: one for key, one in self._owed.items() if key not in responses}
            self._pause = FIRST_PAUSE
            self._one.wake()
        self._telling -= 1

    def _early(self) -> CallToolResult | None:
        return None

    async def _outcome(self, task: Task) -> CallToolResult:
        if task.status == "failed":
            error = task.error or {}
            raise self._failed(error.get("message") or task.words)
        return _result_in(task.result)


class _Early(Following):
    """Up to 2025-11-25: what it came to is asked for on its own. That request waits until there is something, and what the server asks
    of the person may come to whoever waits with it.
    """

    def __init__(self, lead: Lead, task_id: str) -> None:
        super().__init__(lead, task_id)
        self._waits = False
        self._asked_of: Link | None = None
        self._got: CallToolResult | None = None
        self._came = anyio.Event()

    def _attend(self, task: Task, group: TaskGroup) -> None:
        # A server that answers none before the end is asked once, and again where a question of it may wait for that.
        if not self._waits and (self._asked_of is not self._link or task.status == "input_required"):
            self._waits, self._asked_of = True, self._link
            group.start_soon(self._wait, self._link)

    async def _wait(self, link: Link) -> None:
        with suppress(MCPError, ToolFailure, ValueError):
            self._got = _result_in((await link.look(TaskResult(params=self._params), Anything, None)).said)
            self._came.set()
            self._one.wake()
        self._waits = False

    async def _soon(self) -> None:
        await self._came.wait()

    def _early(self) -> CallToolResult | None:
        return self._got

    async def _outcome(self, task: Task) -> CallToolResult:
        if self._waits:
            with anyio.move_on_after(COMING_SECONDS):
                await self._came.wait()
        if self._got is not None:
            return self._got
        try:
            return _result_in(await self._asked(TaskResult(params=self._params), LOOK_SECONDS))
        except MCPError as error:
            if error.code == URL_ELICITATION_REQUIRED:
                raise
            raise self._failed(error.message) from error


def _result_in(said: object) -> CallToolResult:
    try:
        return CallToolResult.model_validate(said)
    except (ValidationError, RecursionError):
        raise ValueError("what its task came to is no result of a call") from None
