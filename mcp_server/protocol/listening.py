"""`subscriptions/listen`, 2026-07-28: one request is one stream of notifications, of every kind that the client named and may have.

What there is to tell, and to whom, is each `Source`'s. There is no replay: who was away listens again, and then reads.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import anyio
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from mcp_server.protocol.calls import CallerOf, Request

MOST_STREAMS = 1024
"""At once. A host opens one or two; each costs a look at the store whenever something has changed."""

MOST_OF_ONE = 32
"""Of one principal at once, so that nobody's take everybody's."""

Meta = dict[str, Any]
Send = Callable[[ServerNotification], Awaitable[None]]


class Watching(Protocol):
    """What one stream is told by one source. Made before the stream is acknowledged, so that nothing in between is missed."""

    @property
    def honored(self) -> Mapping[str, Any]:
        """The fields of the filter that it fills, by their names on the wire. Empty: it has nothing to tell."""
        ...

    async def tell(self, send: Send, meta: Meta) -> None:
        """Send, until cancelled. `meta` goes into every notification."""
        ...

    def end(self) -> None:
        """The stream is over: let go of what was held for it."""
        ...


class Source(Protocol):
    """One kind of thing to listen to."""

    async def watch(self, ctx: Request, wanted: SubscriptionFilter) -> Watching:
        """What of it this request's caller may have."""
        ...


class Listening:
    """Answers `subscriptions/listen`."""

    def __init__(self, sources: Sequence[Source], *, caller_of: CallerOf) -> None:
        self._sources = tuple(sources)
        self._caller_of = caller_of
        self._streams = Counter[str]()
        """By principal."""
        self._ended = anyio.Event()

    def end(self) -> None:
        """Every stream ends with its result, now and from now on."""
        self._ended.set()

    async def __call__(self, ctx: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Stays until the client hangs up, or all streams end.

        Raises:
            MCPError: Too many listen already.
        """
        request_id = ctx.request_id
        if request_id is None:
            raise MCPError(INVALID_REQUEST, "subscriptions/listen needs a request id")
        with self._counted(self._caller_of(ctx).principal.key):
            await self._stream(ctx, params.notifications, {SUBSCRIPTION_ID_META_KEY: request_id})
        return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: request_id})

    @contextmanager
    def _counted(self, principal: str) -> Generator[None]:
        if self._streams.total() >= MOST_STREAMS or self._streams[principal] >= MOST_OF_ONE:
            raise MCPError(INTERNAL_ERROR, f"{self._streams[principal]} streams of yours are open already, or many of others; close one")
        self._streams[principal] += 1
        try:
            yield
        finally:
            self._streams[principal] -= 1
            if not self._streams[principal]:
                del self._streams[principal]

    async def _stream(self, ctx: Request, wanted: SubscriptionFilter, meta: Meta) -> None:
        with ExitStack() as held:
            watching: list[Watching] = []
            for source in self._sources:
                one = await source.watch(ctx, wanted)
                held.callback(one.end)
                watching.append(one)
            await self._told(ctx, watching, meta)

    async def _told(self, ctx: Request, watching: Sequence[Watching], meta: Meta) -> None:
        line = anyio.Lock()

        async def send(notification: ServerNotification) -> None:
            async with line:
                await ctx.session.send_notification(notification, related_request_id=ctx.request_id)

        honored = SubscriptionFilter.model_validate(_merged([one.honored for one in watching]))
        acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
        await send(SubscriptionsAcknowledgedNotification(params=acknowledged))
        async with anyio.create_task_group() as group:
            for one in watching:
                if one.honored:
                    group.start_soon(one.tell, send, meta)
            await self._ended.wait()
            group.cancel_scope.cancel()


def _merged(filters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all of them fill; of a list each its part."""
    whole: dict[str, Any] = {}
    for one in filters:
        for field, value in one.items():
            whole[field] = [*whole.get(field, ()), *value] if isinstance(value, list) else value
    return whole
