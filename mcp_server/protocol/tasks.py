"""The extension `io.modelcontextprotocol/tasks`: calls that answer with a handle, and what may be done with one.

A task is no thing of its own here: it is a promised call, seen through `tasks/get`, answered through `tasks/update`, ended through
`tasks/cancel`. Only requests that declare the extension meet it, and only from 2026-07-28 on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding, RequestHandler
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, CreateMessageResultWithTools, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.asking import Asker, Visit, declares_forms, pass_on
from mcp_server.protocol.lines import Line
from mcp_server.protocol.replies import Reply, Unusable, read_reply
from mcp_server.protocol.sampling import lent, said_by
from mcp_server.protocol.tasks_wire import (
    IDENTIFIER,
    Request,
    TaskParams,
    UpdateParams,
    check_routing,
    declares_tasks,
    detailed,
    no_such_task,
    require_tasks,
    status_of,
    task_of,
)
from mcp_server.protocol.timing import Timing
from mcp_server.records import Prompt
from mcp_server.sessions.front import Caller, Front
from mcp_server.sessions.models.asks import ModelAsk, NotSaid, Said
from mcp_server.sessions.promised import Promised, PromisedFront
from mcp_server.tools.base import ToolSpec

_VERSIONS = frozenset(MODERN_PROTOCOL_VERSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """What the extension is lent."""

    front: Front
    promised: PromisedFront
    caller_of: Callable[[Request], Caller]
    timing: Timing
    clock: Callable[[], float]

    def keeps(self, ctx: Request, spec: ToolSpec) -> bool:
        """See `Keeper`. What only looks at the caller's own has nothing to wait for that is its own."""
        return not spec.by_ownership and declares_tasks(ctx)

    async def handed_over(self, ctx: Request, visit: Visit) -> dict[str, Any] | None:
        """A task in place of the call's result. None: it has one already, or can be promised none."""
        promised = await self.promised.promise(visit.root, visit.call_id)
        if promised is None:
            return None
        status = status_of(promised, asks=declares_forms(ctx.session.client_capabilities))
        return {"resultType": "task", **task_of(promised, status, poll_every=self.timing.poll_every)}

    async def seen(self, ctx: Request, promised: Promised, spec: ToolSpec) -> dict[str, Any]:
        """The task as this request's client may see it. Its prompts and turns count as put. What was answered elsewhere while this was
        put together is left out: the next look tells what came of it.
        """
        asks = declares_forms(ctx.session.client_capabilities)
        shown: list[Prompt | ModelAsk] = [prompt for prompt in promised.prompts if await self._show(prompt)] if asks else []
        shown += [ask for ask in promised.turns if await self.front.put_turn(promised.call_id, ask.id)]
        return detailed(spec, promised, shown, poll_every=self.timing.poll_every)

    async def _show(self, prompt: Prompt) -> bool:
        """The first showing starts its deadline; later ones change nothing and need not be written."""
        return prompt.shown_at is not None or await self.front.show(prompt.id) is not None


class TasksExtension(Extension):
    """Its methods, and what it says of itself."""

    identifier = IDENTIFIER

    def __init__(self, tasks: Tasks, specs: Mapping[str, ToolSpec]) -> None:
        self._tasks = tasks
        self._specs = specs

    def methods(self) -> Sequence[MethodBinding]:
        """Get, update, cancel."""
        return (
            MethodBinding("tasks/get", TaskParams, self._get, _VERSIONS),
            MethodBinding("tasks/update", UpdateParams, self._update, _VERSIONS),
            MethodBinding("tasks/cancel", TaskParams, self._cancel, _VERSIONS),
        )

    async def _get(self, ctx: Request, params: TaskParams) -> dict[str, Any]:
        promised = await self._found(ctx, params)
        return {"resultType": "complete", **await self._tasks.seen(ctx, promised, self._specs[promised.tool])}

    async def _update(self, ctx: Request, params: UpdateParams) -> dict[str, Any]:
        """Answers to what is still open count, one by one; every other one is passed over."""
        promised = await self._found(ctx, params)
        tasks, principal = self._tasks, self._tasks.caller_of(ctx).principal
        asker = Asker(front=tasks.front, principal=principal, timing=tasks.timing, clock=tasks.clock)
        put_off = [
            prompt.id
            for prompt in promised.prompts
            if prompt.id in params.input_responses
            and await pass_on(asker, prompt, self._reply(prompt, params.input_responses[prompt.id]), channel="input_required")
        ]
        for ask in promised.turns:
            if ask.id in params.input_responses:
                tasks.front.turn_said(promised.call_id, ask.id, _said(params.input_responses[ask.id]))
        if put_off:
            await tasks.promised.put_off(principal, promised.call_id, put_off)
        return {"resultType": "complete"}

    def _reply(self, prompt: Prompt, response: object) -> Reply:
        try:
            result = ElicitResult.model_validate(response, by_name=False)
        except ValidationError:
            return Unusable(reason="the client's answer is not one that a form can have")
        now = self._tasks.clock()
        return read_reply(prompt, result, seconds=now - (prompt.shown_at or now), reflex=self._tasks.timing.reflex)

    async def _cancel(self, ctx: Request, params: TaskParams) -> dict[str, Any]:
        promised = await self._found(ctx, params)
        await self._tasks.promised.cancel_promised(self._tasks.caller_of(ctx).principal, promised.call_id)
        return {"resultType": "complete"}

    async def _found(self, ctx: Request, params: TaskParams) -> Promised:
        require_tasks(ctx)
        check_routing(ctx, params.task_id)
        lends = lent(ctx.session.client_capabilities, ctx.protocol_version)
        try:
            promised = await self._tasks.promised.promised(self._tasks.caller_of(ctx).principal, params.task_id, lends)
            if promised.tool not in self._specs:
                raise NoSuchHandle("task")
        except NoSuchHandle as error:
            raise no_such_task(error) from None
        return promised


def _said(response: object) -> Said | NotSaid:
    try:
        return said_by(CreateMessageResultWithTools.model_validate(response, by_name=False))
    except ValidationError:
        return NotSaid(reason="the client's answer is not one that a model's turn can have")


def mount(server: Server[Line], extension: Extension) -> None:
    """Have a server serve an extension's methods, in the versions that they are for, and advertise it."""
    for binding in extension.methods():
        server.add_request_handler(binding.method, binding.params_type, _in_its_versions(binding))
    server.extensions[extension.identifier] = extension.settings()


def _in_its_versions(binding: MethodBinding) -> RequestHandler:
    async def handler(ctx: ServerRequestContext[Any, Any], params: Any) -> HandlerResult:
        if binding.protocol_versions is not None and ctx.protocol_version not in binding.protocol_versions:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", binding.method)
        return await binding.handler(ctx, params)

    return handler
