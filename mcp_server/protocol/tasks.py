"""The extension `io.modelcontextprotocol/tasks`: calls that answer with a handle, and what may be done with one.

A task is no thing of its own here: it is a promised call, seen through `tasks/get`, answered through `tasks/update`, ended through
`tasks/cancel`. Only requests that declare the extension meet it, and only from 2026-07-28 on.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding, RequestHandler
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, CreateMessageRequest, ElicitRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.asking import Asker, Visit, pass_on
from mcp_server.protocol.lines import Line
from mcp_server.protocol.sampling import lent, request_of
from mcp_server.protocol.showing import Shape, Showing, agreed_in, link_key, open_key
from mcp_server.protocol.tasks_answers import opened_in, reply_in, said_in
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
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.front import Caller, Front
from mcp_server.sessions.promised import Promised, PromisedFront
from mcp_server.tools.base import SEPARATOR, ToolSpec, bare

_VERSIONS = frozenset(MODERN_PROTOCOL_VERSIONS)


class Tasks:
    """Promised calls as tasks. What the extension's requests share."""

    def __init__(
        self,
        front: Front,
        promised: PromisedFront,
        *,
        caller_of: Callable[[Request], Caller],
        timing: Timing,
        clock: Callable[[], float] = time.time,
        showing: Showing | None = None,
    ) -> None:
        self._showing = showing or Showing()
        self.promised = promised
        self._front = front
        self._caller_of = caller_of
        self._timing = timing
        self._clock = clock
        self._specs = {spec.name: spec for spec in front.specs()}

    def serve(self, server: Server[Line]) -> None:
        """Have a server answer the extension's requests."""
        mount(server, TasksExtension(self))

    def keeps(self, ctx: Request, spec: ToolSpec) -> bool:
        """See `Keeper`. What only looks at the caller's own has nothing to wait for that is its own."""
        return not spec.by_ownership and declares_tasks(ctx)

    async def handed_over(self, ctx: Request, visit: Visit) -> dict[str, Any] | None:
        """A task in place of the call's result. None: it has one already, or can be promised none."""
        promised = await self.promised.promise(visit.root, visit.call_id)
        if promised is None:
            return None
        status = status_of(promised, asks=bool(self._showing.puttable(promised.prompts, self._shape(ctx), opens=self._opens(ctx))))
        return {"resultType": "task", **task_of(promised, status, poll_every=self._timing.poll_every)}

    async def found(self, ctx: Request, task_id: str) -> Promised:
        """The caller's task.

        Raises:
            NoSuchHandle: It is not the caller's, or was promised by a server with other tools.
        """
        lends = lent(ctx.session.client_capabilities, ctx.protocol_version)
        promised = await self.promised.promised(self._caller_of(ctx), task_id, lends)
        if promised.tool not in self._specs and SEPARATOR not in promised.tool:
            raise NoSuchHandle("task")
        return promised

    async def seen(self, ctx: Request, promised: Promised) -> dict[str, Any]:
        """The task as this request's client may see it. Its prompts and turns count as put. What was answered elsewhere while this was
        put together is left out: the next look tells what came of it.
        """
        shape, opens, shown = self._shape(ctx), self._opens(ctx), dict[str, ElicitRequest | CreateMessageRequest]()
        for prompt in self._showing.puttable(promised.prompts, shape, opens=opens):
            request = self._showing.request(prompt, shape, opens=opens)
            if request is not None and await self._show(prompt):
                shown[request[0]] = request[1]
        for ask in promised.turns:
            if await self._front.put_turn(promised.call_id, ask.id):
                shown[ask.id] = request_of(ask)
        spec = self._specs.get(promised.tool) or bare(promised.tool)
        return detailed(spec, promised, shown, poll_every=self._timing.poll_every)

    async def answered(self, ctx: Request, promised: Promised, responses: Mapping[str, object]) -> None:
        """Answers to what is still open count, one by one; every other one is passed over."""
        asker = Asker(
            front=self._front, principal=self._caller_of(ctx).principal, timing=self._timing, showing=self._showing, clock=self._clock
        )
        forms = self._showing.takes_forms(ctx.session.client_capabilities)
        put_off: list[PromptId] = []
        for prompt in promised.prompts:
            if forms and prompt.id in responses:
                put_off += [prompt.id] if await self._passed_on(asker, prompt, responses[prompt.id]) else []
            elif (key := open_key(prompt.id)) in responses and self._opens(ctx):
                await pass_on(asker, prompt, opened_in(responses[key]), channel="input_required")
            elif (key := link_key(prompt.id)) in responses:
                self._showing.agreed.add(prompt.id) if agreed_in(responses[key]) else put_off.append(prompt.id)
        for ask in promised.turns:
            if ask.id in responses:
                self._front.turn_said(promised.call_id, ask.id, said_in(responses[ask.id]))
        if put_off:
            await self.promised.put_off(self._caller_of(ctx), promised.call_id, put_off)

    def _shape(self, ctx: Request) -> Shape | None:
        """How this request's client is given prompts. A task brings no panel."""
        principal = self._caller_of(ctx).principal.key
        return self._showing.shape(ctx.session.client_capabilities, ctx.protocol_version, principal=principal, panel=False)

    def _opens(self, ctx: Request) -> bool:
        return self._showing.opens(ctx.session.client_capabilities, ctx.protocol_version)

    async def _passed_on(self, asker: Asker, prompt: Prompt, response: object) -> bool:
        now = self._clock()
        reply = reply_in(prompt, response, seconds=now - (prompt.shown_at or now), reflex=self._timing.reflex)
        return await pass_on(asker, prompt, reply, channel="input_required")

    async def cancel(self, ctx: Request, promised: Promised) -> None:
        """End it, with all below it."""
        await self.promised.cancel_promised(self._caller_of(ctx), promised.call_id)

    async def _show(self, prompt: Prompt) -> bool:
        """The first showing starts its deadline; later ones change nothing and need not be written."""
        return prompt.shown_at is not None or await self._front.show(prompt.id) is not None


class TasksExtension(Extension):
    """Its methods, and what it says of itself."""

    identifier = IDENTIFIER

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def methods(self) -> Sequence[MethodBinding]:
        """Get, update, cancel."""
        return (
            MethodBinding("tasks/get", TaskParams, self._get, _VERSIONS),
            MethodBinding("tasks/update", UpdateParams, self._update, _VERSIONS),
            MethodBinding("tasks/cancel", TaskParams, self._cancel, _VERSIONS),
        )

    async def _get(self, ctx: Request, params: TaskParams) -> dict[str, Any]:
        promised = await self._found(ctx, params)
        return {"resultType": "complete", **await self._tasks.seen(ctx, promised)}

    async def _update(self, ctx: Request, params: UpdateParams) -> dict[str, Any]:
        await self._tasks.answered(ctx, await self._found(ctx, params), params.input_responses)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: Request, params: TaskParams) -> dict[str, Any]:
        await self._tasks.cancel(ctx, await self._found(ctx, params))
        return {"resultType": "complete"}

    async def _found(self, ctx: Request, params: TaskParams) -> Promised:
        require_tasks(ctx)
        check_routing(ctx, params.task_id)
        try:
            return await self._tasks.found(ctx, params.task_id)
        except NoSuchHandle as error:
            raise no_such_task(error) from None


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
