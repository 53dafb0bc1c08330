"""News of single resources of one server, as its era has it: subscriptions up to 2025-11-25, one stream of all from 2026-07-28 on."""

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

import anyio
from mcp.client.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, ResourceUpdated, Subscription, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import EmptyResult, SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest, UnsubscribeRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.protocol.upstream.failing import words_of

SUBSCRIBING_SECONDS = 10.0
"""That a server has to take one subscription."""

AGAIN_SECONDS = 5.0
"""Before a stream that was cut short is asked for again."""

MOST_STREAMS = 100
"""Times that it is asked for on one connection."""

UNTOLD = "its server does not tell when it changes"


@dataclass(slots=True, kw_only=True, eq=False)
class Wish:
    """One resource of which somebody wants news."""

    holders: int = 0
    settled: anyio.Event = field(default_factory=anyio.Event)
    """It is known whether news of it will come."""
    failure: str = ""
    """Why none will; empty: some will."""
    changes: int = 0
    """How often it may have changed since."""

    def settle(self, failure: str = "") -> None:
        """A connection's server has answered. Where an earlier one had agreed, nobody knows what was missed between the two."""
        self.changes += self.settled.is_set()
        self.failure = failure
        self.settled.set()


class Wishes:
    """All of one server's resources of which news is wanted, over one connection after another."""

    def __init__(self, rung: Callable[[], None]) -> None:
        """`rung`: one of them may have changed."""
        self._rung = rung
        self._by_uri: dict[str, Wish] = {}
        self.turned = anyio.Event()
        """Another set of them is wanted than when this was looked at."""

    @property
    def current(self) -> dict[str, Wish]:
        """By the server's own URI."""
        return dict(self._by_uri)

    def hold(self, own: str) -> Wish:
        """One more wants it."""
        wish = self._by_uri.get(own)
        if wish is None:
            wish = self._by_uri[own] = Wish()
            self._turn()
        wish.holders += 1
        return wish

    def drop(self, own: str, wish: Wish) -> None:
        """One of them does not any more."""
        wish.holders -= 1
        if not wish.holders and self._by_uri.get(own) is wish:
            del self._by_uri[own]
            self._turn()

    def clear(self) -> None:
        """Nobody does."""
        self._by_uri.clear()
        self._turn()

    def _turn(self) -> None:
        turned, self.turned = self.turned, anyio.Event()
        turned.set()

    def refuse(self, why: str) -> None:
        """Those of which nothing is known yet are told no."""
        for wish in self._by_uri.values():
            if not wish.settled.is_set():
                wish.settle(why)

    def heard(self, uri: str) -> None:
        """The server says that it has changed, or a part of it: that is told of the whole, the only URI that anybody may have."""
        for own, wish in self._by_uri.items():
            if uri == own or uri.startswith(f"{own.removesuffix('/')}/"):
                wish.changes += 1
                self._rung()

    def missed(self) -> None:
        """Any may have changed."""
        for wish in self._by_uri.values():
            wish.changes += 1
        self._rung()


async def served(client: Client, wishes: Wishes) -> None:
    """Have the server know what is wanted, until nothing is."""
    can = client.server_capabilities.resources
    if can is None or not can.subscribe:
        await _refused(wishes)
    elif client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        await _streamed(client, wishes)
    else:
        await _subscribed(client, wishes)


async def _refused(wishes: Wishes) -> None:
    while wishes.current:
        turned = wishes.turned
        wishes.refuse(UNTOLD)
        await turned.wait()


# ---- up to 2025-11-25 -------------------------------------------------------------------------------


async def _subscribed(client: Client, wishes: Wishes) -> None:
    """One after another, as each is wanted and not any more."""
    had: dict[str, Wish] = {}
    while had or wishes.current:
        turned, current = wishes.turned, wishes.current
        for own in [own for own in had if own not in current]:
            if not had.pop(own).failure:
                await _done(client, UnsubscribeRequest(params=UnsubscribeRequestParams(uri=own)))
        for own, wish in current.items():
            if had.get(own) is not wish:
                had[own] = wish
                wish.settle(await _done(client, SubscribeRequest(params=SubscribeRequestParams(uri=own))))
        if current:
            await turned.wait()


async def _done(client: Client, request: SubscribeRequest | UnsubscribeRequest) -> str:
    """Why not; empty: it is."""
    try:
        with anyio.fail_after(SUBSCRIBING_SECONDS):
            await client.session.send_request(request, EmptyResult)
    except (MCPError, ValidationError, TimeoutError) as error:
        return words_of(error)
    return ""


# ---- from 2026-07-28 on -----------------------------------------------------------------------------


async def _streamed(client: Client, wishes: Wishes) -> None:
    """One stream names all of them. Where others are wanted, the next is there before the last one goes."""
    had: dict[str, Wish] = {}
    last: anyio.CancelScope | None = None
    async with anyio.create_task_group() as group:
        while current := wishes.current:
            turned = wishes.turned
            if current != had:
                new = {own: wish for own, wish in current.items() if had.get(own) is not wish}
                stream, answered = anyio.CancelScope(), anyio.Event()
                group.start_soon(_stream, client, wishes, tuple(current), new, stream, answered)
                await answered.wait()
                if last is not None:
                    last.cancel()
                had, last = current, stream
            await turned.wait()
        group.cancel_scope.cancel()


async def _stream(
    client: Client, wishes: Wishes, uris: tuple[str, ...], new: dict[str, Wish], scope: anyio.CancelScope, answered: anyio.Event
) -> None:
    """Until cancelled. `new`: those of which it is not known yet whether the server tells of them."""
    with scope:
        for attempt in range(MOST_STREAMS):
            with suppress(MCPError, SubscriptionLost, TimeoutError, ListenNotSupportedError):
                async with AsyncExitStack() as stack:
                    try:
                        events = await _opened(stack, client, uris, new)
                    finally:
                        answered.set()
                    if attempt:
                        wishes.missed()
                    async for event in events:
                        if isinstance(event, ResourceUpdated):
                            wishes.heard(event.uri)
            await anyio.sleep(AGAIN_SECONDS)


async def _opened(stack: AsyncExitStack, client: Client, uris: tuple[str, ...], new: dict[str, Wish]) -> Subscription:
    told, why = frozenset[str](), UNTOLD
    try:
        with anyio.fail_after(SUBSCRIBING_SECONDS):
            events = await stack.enter_async_context(client.listen(resource_subscriptions=uris))
        told = frozenset(events.honored.resource_subscriptions or ())
        return events
    except (MCPError, SubscriptionLost, TimeoutError, ListenNotSupportedError) as error:
        why = words_of(error)
        raise
    finally:
        for own in tuple(new):
            new.pop(own).settle("" if own in told else why)
