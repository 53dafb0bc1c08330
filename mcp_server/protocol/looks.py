"""Everything by which a client looks at its sessions without calling a tool, as one part: resources and the news of them."""

from collections.abc import Sequence

import anyio
from mcp.server.lowlevel.server import Server
from mcp_types import (
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    Tool,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.protocol.calls import CallerOf, Request
from mcp_server.protocol.lines import Line, line_of
from mcp_server.protocol.listening import Listening, Source
from mcp_server.protocol.other_news import Followers, OtherSource
from mcp_server.protocol.resource_changes import ResourceSource
from mcp_server.protocol.resource_subscribers import Subscribers
from mcp_server.protocol.resources import Resources, not_yours
from mcp_server.protocol.showing import Showing
from mcp_server.protocol.timing import Timing
from mcp_server.sessions.front import Caller, Front, Shelf
from mcp_server.sessions.sight import Sight
from mcp_server.tools.news import Kind


class Looks:
    """The handlers of these requests, for both eras."""

    def __init__(
        self,
        front: Front,
        sight: Sight,
        *,
        caller_of: CallerOf,
        timing: Timing,
        showing: Showing | None = None,
        sources: Sequence[Source] = (),
    ) -> None:
        self._front = front
        self._timing = timing
        self._resources = Resources(sight, caller_of=caller_of)
        self._subscribers = Subscribers(sight, self._resources, caller_of=caller_of)
        self._caller_of = caller_of
        self._followers = Followers(front)
        self._given = (showing or Showing()).given
        own = (ResourceSource(sight, caller_of=caller_of), OtherSource(front, caller_of=caller_of, timing=timing))
        self._listening = Listening([*own, *sources], caller_of=caller_of)

    def serve(self, server: Server[Line]) -> None:
        """Have a server answer these requests."""
        server.add_request_handler("resources/list", PaginatedRequestParams, self.list_resources)
        server.add_request_handler("resources/templates/list", PaginatedRequestParams, self.list_templates)
        server.add_request_handler("resources/read", ReadResourceRequestParams, self.read_resource)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, self.subscribe)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self.unsubscribe)
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, self.set_level)
        server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self.listen)

    async def run(self) -> None:
        """Tell connections up to 2025-11-25 what they watch. From 2026-07-28 on each stream tells its own."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._subscribers.run)
            group.start_soon(self._followers.run)
            group.start_soon(self._given.run, self._front.news)

    def gave_tools(self, ctx: Request, caller: Caller, tools: Sequence[Tool]) -> None:
        """A client was just given other servers' tools: up to 2025-11-25 it is told when they change."""
        if (line := self._connection(ctx)) is not None:
            self._followers.gave_tools(line, ctx.session, caller, tools)

    def gave_shelves(self, ctx: Request, caller: Caller, kind: Kind, shelves: Sequence[Shelf]) -> None:
        """Likewise, what they offer beside."""
        if (line := self._connection(ctx)) is not None:
            self._followers.gave_shelves(line, ctx.session, caller, kind, shelves)

    def _connection(self, ctx: Request) -> Line | None:
        return None if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else line_of(ctx, self._front, self._timing)

    def end(self) -> None:
        """Streams of `subscriptions/listen` end as they are to end."""
        self._listening.end()

    async def list_resources(self, ctx: Request, params: PaginatedRequestParams) -> ListResourcesResult:
        """`resources/list`."""
        return await self._subscribers.listed(ctx, params, line_of(ctx, self._front, self._timing))

    async def list_templates(self, ctx: Request, params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        """`resources/templates/list`."""
        return await self._resources.templates(ctx, params)

    async def read_resource(self, ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        """`resources/read`."""
        return await self._resources.read(ctx, params)

    async def subscribe(self, ctx: Request, params: SubscribeRequestParams) -> EmptyResult:
        """`resources/subscribe`, up to 2025-11-25."""
        line = line_of(ctx, self._front, self._timing)
        if line is None:
            raise not_yours(ctx, str(params.uri))
        if await self._followers.subscribe(ctx, line, self._caller_of(ctx), params.uri):
            return EmptyResult()
        return await self._subscribers.subscribe(ctx, params, line)

    async def unsubscribe(self, ctx: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        """`resources/unsubscribe`, up to 2025-11-25."""
        line = line_of(ctx, self._front, self._timing)
        if line is None or self._followers.unsubscribe(line, params.uri):
            return EmptyResult()
        return await self._subscribers.unsubscribe(ctx, params, line)

    async def set_level(self, ctx: Request, params: SetLevelRequestParams) -> EmptyResult:
        """`logging/setLevel`, up to 2025-11-25: of what other servers say while calls of this connection are under way."""
        line = line_of(ctx, self._front, self._timing)
        if line is not None:
            line.log_level = params.level
        return EmptyResult()

    async def listen(self, ctx: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """`subscriptions/listen`, from 2026-07-28 on."""
        return await self._listening(ctx, params)
