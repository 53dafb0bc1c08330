"""The wire format of the extension `io.modelcontextprotocol/tasks` (SEP-2663), and how a promised call looks in it.

Built as plain mappings: `ttlMs` must be there even where it is null, which the SDK's models leave out.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, assert_never

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    ElicitRequest,
    RequestParams,
)
from mcp_types.jsonrpc import HEADER_MISMATCH
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict, Field
from starlette.requests import Request as HttpRequest

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.lines import Line
from mcp_server.protocol.wire import ended
from mcp_server.records import Ending
from mcp_server.sessions.promised import Promised
from mcp_server.tools.base import ToolSpec

IDENTIFIER = "io.modelcontextprotocol/tasks"

NAMED_BY_ID = dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")
"""The extension's methods, and the parameter that the header Mcp-Name repeats over HTTP."""

Request = ServerRequestContext[Line, Any]
Status = Literal["working", "input_required", "completed", "failed", "cancelled"]


class TaskParams(RequestParams):
    """Of `tasks/get` and `tasks/cancel`."""

    model_config = ConfigDict(populate_by_name=True)

    task_id: Annotated[str, Field(alias="taskId")]


class UpdateParams(TaskParams):
    """Of `tasks/update`. What a response holds is looked at where its request is known."""

    input_responses: Annotated[dict[str, Any], Field(alias="inputResponses")]


# ---- what a request declares ----------------------------------------------------------------------


def declares_tasks(ctx: Request) -> bool:
    """Says this very request that its client understands tasks? Nobody does before 2026-07-28."""
    capabilities = ctx.session.client_capabilities
    extensions = (capabilities.extensions if capabilities is not None else None) or {}
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and IDENTIFIER in extensions


def require_tasks(ctx: Request) -> None:
    """Raises the protocol error that names what the request did not declare."""
    if not declares_tasks(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"this needs a client that declares the extension {IDENTIFIER}", needed)


def check_routing(ctx: Request, task_id: str) -> None:
    """Over HTTP the task's id stands in a header too, so that a proxy can route by it. Raises where the two differ."""
    request: HttpRequest | None = ctx.request
    if request is not None and decode_header_value(request.headers.get(MCP_NAME_HEADER)) != task_id:
        raise MCPError(HEADER_MISMATCH, f"the {MCP_NAME_HEADER} header is not the request's taskId")


def no_such_task(error: NoSuchHandle) -> MCPError:
    """Foreign, unknown, dropped and malformed ids: one answer."""
    return MCPError(INVALID_PARAMS, str(error))


# ---- how a task looks -----------------------------------------------------------------------------


def status_of(promised: Promised, *, asks: bool) -> Status:
    """The five words of the extension. `asks`: this request's client is given prompts; what it lends of its model is in the turns."""
    if promised.fault is not None:
        return "failed"
    if promised.ended is not None:
        return "cancelled" if promised.ended.ending is Ending.CANCELLED else "completed"
    return "input_required" if promised.turns or (asks and promised.prompts) else "working"


def task_of(promised: Promised, status: Status, *, poll_every: float) -> dict[str, Any]:
    """What every shape of a task has."""
    kept = None if promised.kept_until is None else _milliseconds(promised.kept_until - promised.created_at)
    return {
        "taskId": promised.call_id,
        "status": status,
        "statusMessage": promised.words,
        "createdAt": _time(promised.created_at),
        "lastUpdatedAt": _time(promised.changed_at),
        "ttlMs": kept,
        "pollIntervalMs": _milliseconds(poll_every),
    }


def detailed(
    spec: ToolSpec, promised: Promised, shown: Mapping[str, ElicitRequest | CreateMessageRequest], *, poll_every: float
) -> dict[str, Any]:
    """A task with what its status brings along. `shown`: what is put before a person, or to the client's own model, with it, by key."""
    status = status_of(promised, asks=True)
    if status == "input_required" and not shown:
        status = "working"
    return {**task_of(promised, status, poll_every=poll_every), **_brings(spec, promised, shown, status)}


def _brings(
    spec: ToolSpec, promised: Promised, shown: Mapping[str, ElicitRequest | CreateMessageRequest], status: Status
) -> Mapping[str, Any]:
    match status:
        case "working" | "cancelled":
            return {}
        case "input_required":
            return {"inputRequests": {key: one.model_dump(by_alias=True, mode="json", exclude_none=True) for key, one in shown.items()}}
        case "failed":
            return {"error": {"code": INTERNAL_ERROR, "message": promised.fault}}
        case "completed":
            if promised.ended is None:
                raise ValueError("a completed task has a result")
            return {"result": ended(spec, promised.ended).model_dump(by_alias=True, mode="json", exclude_none=True)}
        case _:
            assert_never(status)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
