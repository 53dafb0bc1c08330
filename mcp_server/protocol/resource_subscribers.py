"""`resources/subscribe` and `resources/unsubscribe`, up to 2025-11-25: a connection is told of changes until it ends."""

from dataclasses import dataclass

import anyio
import structlog
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    EmptyResult,
    ListResourcesResult,
    PaginatedRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.errors import NoSuchHandle, StoreError
from mcp_server.protocol.calls import CallerOf, Request
from mcp_server.protocol.lines import Line
from mcp_server.protocol.resource_changes import MOST_ADDRESSES, PACE, Marks, list_changed, updated
from mcp_server.protocol.resources import Resources, not_yours
from mcp_server.sessions.sight import Sight

log = structlog.get_logger("protocol")

SENDING = 1.0
"""Seconds for one notice. A connection whose client reads nothing must not keep the others waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """One connection: what it watches, and the way to it."""

    marks: Marks
    session: ServerSession
    """Of its first request: what belongs to no request goes over the connection itself."""


class Subscribers:
    """Every connection that watches something."""

    def __init__(self, sight: Sight, resources: Resources, *, caller_of: CallerOf) -> None:
        self._sight = sight
        self._resources = resources
        self._caller_of = caller_of
        self._by_line: dict[Line, Subscriber] = {}
        self._some = anyio.Event()

    async def listed(self, ctx: Request, params: PaginatedRequestParams, line: Line | None) -> ListResourcesResult:
        """The list; whoever has asked for it once is told when it changes."""
        if line is not None and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await self._of(ctx, line).marks.look_at_list()
        return await self._resources.listed(ctx, params)

    async def subscribe(self, ctx: Request, params: SubscribeRequestParams, line: Line) -> EmptyResult:
        """Watch one.

        Raises:
            MCPError: It is not the caller's, or the connection watches too many.
        """
        marks = self._of(ctx, line).marks
        if len(marks.addresses) >= MOST_ADDRESSES:
            raise MCPError(INVALID_REQUEST, f"this connection watches {MOST_ADDRESSES} resources already; unsubscribe from some")
        try:
            await marks.add(params.uri)
        except NoSuchHandle:
            raise not_yours(ctx, str(params.uri)) from None
        return EmptyResult()

    async def unsubscribe(self, ctx: Request, params: UnsubscribeRequestParams, line: Line) -> EmptyResult:
        """Watch it no more. What was not watched is no error."""
        self._of(ctx, line).marks.drop(params.uri)
        return EmptyResult()

    def _of(self, ctx: Request, line: Line) -> Subscriber:
        found = self._by_line.get(line)
        if found is None:
            found = self._by_line[line] = Subscriber(marks=Marks(self._sight, self._caller_of(ctx)), session=ctx.session)
            self._some.set()
        return found

    async def run(self) -> None:
        """Tell them, until cancelled. Looks at nothing while nobody watches."""
        seen = -1
        while True:
            await self._some.wait()
            try:
                seen = await self._sight.change(seen)
                await self._tell_all()
            except StoreError as error:
                log.error("the store cannot be read", error=str(error))
            await anyio.sleep(PACE)

    async def _tell_all(self) -> None:
        for line, subscriber in tuple(self._by_line.items()):
            if line.closed:
                del self._by_line[line]
                continue
            changed, lists = await subscriber.marks.look()
            notices = [*(updated(str(address)) for address in changed), *([list_changed()] if lists else [])]
            with anyio.move_on_after(SENDING):
                try:
                    for notice in notices:
                        await subscriber.session.send_notification(notice)
                except Exception as error:  # one connection's fault must not end the telling of the others
                    log.info("a change could not be told", exc_info=error)
        if not self._by_line:
            self._some = anyio.Event()
