"""The tools that the suite's tasks scenarios ask for, as tools of Remit's own: judged by the gate, carried on as any client's call.

Three are other tools under the suite's names: see `Aliases`.
"""

from collections.abc import Mapping
from typing import Any

import anyio
from mcp.server.context import HandlerResult
from mcp_types import CallToolRequestParams, ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult, Tool
from pydantic import BaseModel

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PlainValue
from mcp_server.policy.values import Request as Asked
from mcp_server.protocol.calls import Request, ToolCalls
from mcp_server.protocol.tasks_wire import require_tasks
from mcp_server.records import CallEnded, TextPart
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.work import AnyTool, Parked, SessionContext, Work
from mcp_server.tools.base import Hints, ToolResult, ToolSpec

ALLOWED = "fixture__allowed"
ASKED = "fixture__asked"
"""Permissions: the fixture's settings allow the first, and no rule speaks of the second, so a person is asked."""

PAUSE = 0.3
"""Seconds: longer than a call that ends at once takes, so that it becomes a task."""

ERRAND = {"description": "Ask twice", "prompt": "Ask two questions at once.", "subagent_type": "asker"}
TWO_QUESTIONS = [{"tool": "question", "arguments": {"questions": [{"question": f"{what}?"}]}} for what in ("Who", "Where")]
SCRIPT: Mapping[str, list[dict[str, Any]]] = {"asker": [{"text": "", "calls": TWO_QUESTIONS}, {"text": "Both were asked."}]}
ASKER = "---\ndescription: Asks two questions at once.\nmode: subagent\n---\nYou ask.\n"


class Nothing(BaseModel):
    """No arguments."""


class Named(BaseModel):
    name: str = "you"


class Computed(BaseModel):
    seconds: float = 0.0
    label: str = ""


class Deleted(BaseModel):
    filename: str = ""


class _FixtureTool:
    """One tool of the fixture."""

    arguments: type[BaseModel] = Nothing
    permission = ALLOWED
    outlasts = True

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self._name,
            title=self._name,
            description="A tool that the conformance suite calls.",
            arguments=self.arguments,
            hints=Hints(read_only=False),
            outlasts=self.outlasts,
        )

    def requests(self, arguments: Any, context: SessionContext) -> tuple[Asked, ...]:
        return (Asked(permission=self.permission, values=(PlainValue(text="*"),)),)


class Greet(_FixtureTool):
    arguments = Named
    outlasts = False

    async def run(self, arguments: Named, context: SessionContext) -> ToolResult:
        return _said(f"Hello, {arguments.name}!")


class GreetSlowly(_FixtureTool):
    arguments = Named

    async def run(self, arguments: Named, context: SessionContext) -> ToolResult:
        await anyio.sleep(PAUSE)
        return _said(f"Hello, {arguments.name}!")


class Compute(_FixtureTool):
    arguments = Computed

    async def run(self, arguments: Computed, context: SessionContext) -> ToolResult:
        await anyio.sleep(arguments.seconds)
        return _said(f"{arguments.label or 'it'} took {arguments.seconds:g} s")


class Fail(_FixtureTool):
    async def run(self, arguments: Nothing, context: SessionContext) -> ToolResult:
        await anyio.sleep(1.0)
        raise ToolFailure("the job failed, as it always does")


class Delete(_FixtureTool):
    """Waits for a person's approval, as any tool does that no rule allows."""

    arguments = Deleted
    permission = ASKED

    async def run(self, arguments: Deleted, context: SessionContext) -> ToolResult:
        return _said(f"deleted {arguments.filename}")


class Panic(_FixtureTool):
    """Never runs: see `PanickingGate`."""

    async def run(self, arguments: Nothing, context: SessionContext) -> ToolResult:
        raise AssertionError("the gate panics first")


def _said(text: str) -> ToolResult:
    return ToolResult(parts=(TextPart(text=text),))


def task_tools() -> Mapping[str, AnyTool]:
    """By name."""
    made: tuple[AnyTool, ...] = (
        Greet("greet"),
        GreetSlowly("greet_slowly"),
        Compute("slow_compute"),
        Fail("failing_job"),
        Delete("confirm_delete"),
        Panic("protocol_error_job"),
    )
    return {tool.spec.name: tool for tool in made}


class PanickingGate(Gate):
    """A gate with one fault: a tool at which the server itself fails. A tool's own exception would be the tool's error."""

    async def attempt(self, work: Work) -> CallEnded | Parked:
        if work.call.tool == "protocol_error_job":
            await anyio.sleep(PAUSE)
            raise RuntimeError("the server itself failed, as it always does here")
        return await super().attempt(work)


ALIASES = ("multi_input", "test_tool_with_task")


class Aliases:
    """Calls by the suite's names of what Remit has under another, or in two steps."""

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls

    def listed(self) -> list[Tool]:
        plain: dict[str, Any] = {"type": "object"}
        return [Tool(name=name, description="See the suite.", input_schema=plain) for name in ALIASES]

    async def __call__(self, ctx: Request, params: CallToolRequestParams) -> HandlerResult:
        match params.name:
            case "failing_job":
                require_tasks(ctx)
                return await self._calls(ctx, params)
            case "multi_input":
                return await self._calls(ctx, params.model_copy(update={"name": "task", "arguments": ERRAND}))
            case "test_tool_with_task":
                require_tasks(ctx)
                return await self._greeted(ctx, params)
            case _:
                return await self._calls(ctx, params)

    async def _greeted(self, ctx: Request, params: CallToolRequestParams) -> HandlerResult:
        """Asks in a round of the call itself, before there is a task."""
        given = (params.input_responses or {}).get("user_name")
        if not isinstance(given, ElicitResult) or given.content is None:
            schema: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            form = ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
            return InputRequiredResult(input_requests={"user_name": ElicitRequest(params=form)})
        name = {"name": str(given.content.get("name"))}
        return await self._calls(ctx, CallToolRequestParams(name="greet_slowly", arguments=name))
