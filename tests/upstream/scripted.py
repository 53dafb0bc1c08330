"""A scripted MCP server to stand behind Remit: the SDK's own, in this process, in either era."""

import base64
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._memory import InMemoryTransport
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ErrorData,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequest,
    InputRequiredResult,
    JSONRPCError,
    JSONRPCRequest,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
    UnsubscribeRequestParams,
)

from mcp_server.elicited import Asked, Replied
from mcp_server.protocol.upstream.link import Ends
from mcp_server.protocol.upstream.servers import Opener
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.foreign import Whose
from tests.protocol.connect import Era

Context = ServerRequestContext[Any, Any]
Does = Callable[[Context, Mapping[str, Any]], Awaitable[CallToolResult | InputRequiredResult]]


def told(text: str, *, failed: bool = False, structured: dict[str, Any] | None = None) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed, structured_content=structured)


async def _says(_: Context, arguments: Mapping[str, Any]) -> CallToolResult:
    return told(f"said {arguments.get('text', '')}", structured={"said": arguments.get("text", "")})


async def _counts(ctx: Context, arguments: Mapping[str, Any]) -> CallToolResult:
    for step in range(1, int(arguments.get("to", 3)) + 1):
        await ctx.session.report_progress(step, 3, f"step {step}")
    return told("counted")


async def _fails(_: Context, arguments: Mapping[str, Any]) -> CallToolResult:
    return told("it did not work", failed=True)


class Nobody:
    """The person of a call for which nobody is asked."""

    async def __call__(self, asked: Asked) -> Replied:
        raise AssertionError(asked)

    def refuse(self, why: str) -> None:
        raise AssertionError(why)


async def elicited(ctx: Context, params: ElicitRequestParams) -> ElicitResult:
    """Up to 2025-11-25: ask in the middle of the call."""
    match params:
        case ElicitRequestFormParams():
            return await ctx.session.elicit_form(params.message, params.requested_schema, ctx.request_id)
        case ElicitRequestURLParams():
            return await ctx.session.elicit_url(params.message, params.url, params.elicitation_id or "one", ctx.request_id)


def answers_of(ctx: Context) -> dict[str, ElicitResult]:
    """From 2026-07-28 on: the answers that a call brings."""
    came: dict[str, Any] = (ctx.params or {}).get("inputResponses") or {}
    return {key: ElicitResult.model_validate(value) for key, value in came.items()}


def asks(*questions: ElicitRequestParams) -> Does:
    """A tool that asks all of them, as its era has it, one round, and tells what came back."""

    async def does(ctx: Context, _: Mapping[str, Any]) -> CallToolResult | InputRequiredResult:
        if ctx.protocol_version == "2025-11-25":
            replies = [await elicited(ctx, params) for params in questions]
        elif answers := answers_of(ctx):
            replies = [answers[str(place)] for place in range(len(questions))]
        else:
            wanted: dict[str, InputRequest] = {str(place): ElicitRequest(params=params) for place, params in enumerate(questions)}
            return InputRequiredResult(input_requests=wanted, request_state="mine")
        return told("\n".join(f"{reply.action} {reply.content}" for reply in replies))

    return does


NAME = ElicitRequestFormParams(
    message="Your name?\nAllow once: send it",
    requested_schema={
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Name", "minLength": 2},
            "age": {"type": "integer", "minimum": 0},
        },
        "required": ["decision"],
    },
)

OBJECT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}


@dataclass(kw_only=True)
class Scripted:
    """One server. Mutable: what it says of its tools may change while it runs, as a hostile one's would."""

    does: dict[str, Does] = field(
        default_factory=lambda: {
            "say": _says,
            "count": _counts,
            "fail": _fails,
        }
    )
    descriptions: dict[str, str] = field(default_factory=lambda: {"say": "Says it."})
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """What its tools promise of structured content."""
    lists: int = 0
    """How often its tools were asked for."""
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list[tuple[str, Mapping[str, Any]]])
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    lister: Callable[[Context, PaginatedRequestParams | None], Awaitable[ListToolsResult]] | None = None
    """Lists its tools instead of what it would say. None: nothing does."""
    ends: Callable[[], Awaitable[None]] | None = None
    """Awaited as a connection ends. None: nothing is."""
    entered: int = 0
    """How often somebody connected."""

    levels: list[str] = field(default_factory=list[str])
    """Of log messages, as it was told to send them up to 2025-11-25."""
    shelf: "ScriptedShelf | None" = None
    """What it offers beside tools."""

    def server(self) -> Server[Any]:
        """The SDK's server of it."""
        beside = {} if self.shelf is None else self.shelf.handlers()
        server = Server[Any](
            "scripted",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self._listen,
            lifespan=self._lifespan,
            **beside,
        )
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._level)
        return server

    async def tell_of_changes(self, ctx: Context) -> None:
        """All that it offers has changed, and it says so, as each era has it."""
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_resource_list_changed()
        for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
            await self.bus.publish(event)

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncGenerator[None]:
        self.entered += 1
        try:
            yield
        finally:
            if self.ends is not None:
                await self.ends()

    async def tell_of(self, ctx: Context, uri: str) -> None:
        """A resource has changed, and it says so, as each era has it."""
        await ctx.session.send_resource_updated(uri)
        await self.bus.publish(ResourceUpdated(uri))

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        uris = params.notifications.resource_subscriptions or ()
        if self.shelf is not None:
            self.shelf.refuse(uris)
            self.shelf.watched.update(uris)
        try:
            return await ListenHandler(self.bus)(ctx, params)
        finally:
            if self.shelf is not None:
                self.shelf.watched.subtract(uris)

    async def _level(self, _: Context, params: SetLevelRequestParams) -> EmptyResult:
        self.levels.append(params.level)
        return EmptyResult()

    async def _list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        self.lists += 1
        if self.lister is not None:
            return await self.lister(ctx, params)
        return ListToolsResult(tools=[self._tool(name) for name in self.does])

    def _tool(self, name: str) -> Tool:
        return Tool(
            name=name,
            description=self.descriptions.get(name, f"The tool {name}."),
            input_schema=self.schemas.get(name, OBJECT),
            output_schema=self.outputs.get(name),
            annotations=ToolAnnotations(read_only_hint=True),
        )

    async def _call(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        self.calls.append((params.name, dict(params.arguments or {})))
        return await self.does[params.name](ctx, params.arguments or {})


@dataclass(kw_only=True)
class ScriptedShelf:
    """Resources, prompts and proposals of a scripted server. Mutable as it is."""

    texts: dict[str, str | bytes] = field(default_factory=lambda: dict[str, str | bytes]({"note://1": "one", "note://2": b"two"}))
    """By URI."""
    templates: list[str] = field(default_factory=lambda: ["note://{n}"])
    prompts: dict[str, str] = field(default_factory=lambda: {"greet": "Greet {whom}."})
    """By name, with what the argument `whom` is filled into."""
    values: list[str] = field(default_factory=lambda: ["world"])
    wants: ElicitRequestFormParams | None = None
    """What it asks the person before it gives a resource or a prompt."""
    replies: list[ElicitResult] = field(default_factory=list[ElicitResult])
    watched: Counter[str] = field(default_factory=Counter[str])
    """Subscriptions to news of each, by URI."""
    untold: frozenset[str] = frozenset()
    """Those of which it tells no news, and says so with an error."""
    lists: Callable[..., Awaitable[Any]] | None = None
    """Lists its resources instead of what it would say. None: nothing does."""
    page: int = 1
    """How many stand on one page of a list."""
    asked: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """Every request but those for lists."""

    def handlers(self) -> dict[str, Any]:
        """For the SDK's server."""
        return {
            "on_list_resources": self.lists or self._resources,
            "on_list_resource_templates": self._templates,
            "on_read_resource": self._read,
            "on_list_prompts": self._prompts,
            "on_get_prompt": self._get,
            "on_completion": self._complete,
            "on_subscribe_resource": self._subscribe,
            "on_unsubscribe_resource": self._unsubscribe,
        }

    def refuse(self, uris: Iterable[str]) -> None:
        """Raises MCPError: it tells no news of one of them."""
        if self.untold.intersection(uris):
            raise MCPError(INVALID_PARAMS, "no news of that")

    async def _subscribe(self, _: Context, params: SubscribeRequestParams) -> EmptyResult:
        self.refuse([params.uri])
        self.watched[params.uri] += 1
        return EmptyResult()

    async def _unsubscribe(self, _: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self.watched[params.uri] -= 1
        return EmptyResult()

    async def _resources(self, _: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        found = [Resource(uri=uri, name=f"the note {uri}", description="A note.", size=3) for uri in self.texts]
        page, cursor = self._page(found, params)
        return ListResourcesResult(resources=page, next_cursor=cursor)

    async def _templates(self, _: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        found = [ResourceTemplate(uri_template=template, name="note") for template in self.templates]
        page, cursor = self._page(found, params)
        return ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def _prompts(self, _: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        found = [Prompt(name=name, arguments=[PromptArgument(name="whom", required=True)]) for name in self.prompts]
        page, cursor = self._page(found, params)
        return ListPromptsResult(prompts=page, next_cursor=cursor)

    def _page(self, found: list[Any], params: PaginatedRequestParams | None) -> tuple[list[Any], str | None]:
        at = int(params.cursor) if params is not None and params.cursor is not None else 0
        then = at + self.page
        return found[at:then], str(then) if then < len(found) else None

    async def _read(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult | InputRequiredResult:
        self.asked.append(("read", params.uri))
        if (first := await self._wanted(ctx)) is not None:
            return first
        if params.uri not in self.texts:
            code = INVALID_PARAMS if ctx.protocol_version == "2026-07-28" else -32002
            raise MCPError(code, "no such note")
        held = self.texts[params.uri]
        if isinstance(held, str):
            return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type="text/plain", text=held)])
        return ReadResourceResult(contents=[BlobResourceContents(uri=params.uri, blob=base64.b64encode(held).decode())])

    async def _wanted(self, ctx: Context) -> InputRequiredResult | None:
        """What it asks first, as its era has it. None: it has been answered, or there is nothing."""
        if self.wants is None:
            return None
        modern, answers = ctx.protocol_version == "2026-07-28", answers_of(ctx)
        if modern and not answers:
            return InputRequiredResult(input_requests={"one": ElicitRequest(params=self.wants)}, request_state="mine")
        self.replies.append(answers["one"] if modern else await elicited(ctx, self.wants))
        return None

    async def _get(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        self.asked.append(("get", (params.name, params.arguments)))
        if (first := await self._wanted(ctx)) is not None:
            return first
        text = self.prompts[params.name].format(**(params.arguments or {}))
        messages = [
            PromptMessage(role="user", content=TextContent(text=text)),
            PromptMessage(role="assistant", content=EmbeddedResource(resource=TextResourceContents(uri="note://1", text="one"))),
        ]
        return GetPromptResult(description="Greets.", messages=messages)

    async def _complete(self, _: Context, params: CompleteRequestParams) -> CompleteResult:
        named = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        self.asked.append(("complete", (named, params.argument.value, params.context.arguments if params.context else None)))
        values = [value for value in self.values if value.startswith(params.argument.value)]
        return CompleteResult(completion=Completion(values=values, total=len(values), has_more=False))


class OldEra:
    """A way to a server in this process that knows nothing of `server/discover`: the two agree on 2025-11-25."""

    def __init__(self, server: Server[Any]) -> None:
        self._inner = InMemoryTransport(server)
        self._stack: Any = None

    async def __aenter__(self) -> Any:
        self._stack = self._entered()
        return await self._stack.__aenter__()

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stack.__aexit__(*error)

    @asynccontextmanager
    async def _entered(self) -> AsyncGenerator[Any]:
        async with self._inner as (inner_read, inner_write), anyio.create_task_group() as group:
            to_client, read = anyio.create_memory_object_stream[SessionMessage | Exception](16)
            write, from_client = anyio.create_memory_object_stream[SessionMessage](16)
            group.start_soon(self._outward, from_client, inner_write, to_client)
            group.start_soon(self._inward, inner_read, to_client)
            try:
                yield read, write
            finally:
                group.cancel_scope.cancel()
                for stream in (to_client, read, write, from_client):
                    stream.close()

    async def _outward(
        self,
        from_client: MemoryObjectReceiveStream[SessionMessage],
        inner: Any,
        to_client: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        async for message in from_client:
            said = message.message
            if isinstance(said, JSONRPCRequest) and said.method == "server/discover":
                refusal = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
                await to_client.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=said.id, error=refusal)))
            else:
                await inner.send(message)

    async def _inward(self, inner: Any, to_client: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async for message in inner:
            await to_client.send(message)


def opener(servers: Mapping[str, Scripted], era: Era = "2026-07-28") -> Opener:
    """The way to servers in this process, by the names that settings have for them."""

    def way(name: str, config: Upstream, whose: Whose, ends: Ends) -> Any:
        server = servers[name].server()
        return server if era == "2026-07-28" else OldEra(server)

    return way
