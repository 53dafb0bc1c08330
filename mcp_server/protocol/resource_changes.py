"""Which of some resources have changed since they were last looked at; and the telling of it to whoever listens, 2026-07-28."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from mcp_types import (
    NotificationParams,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    SubscriptionFilter,
)

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.calls import CallerOf, Request
from mcp_server.protocol.listening import Meta, Send
from mcp_server.protocol.resources import Address, document, read_address
from mcp_server.sessions.front import Caller
from mcp_server.sessions.sight import Sight

PACE = 0.5
"""Seconds at least between two looks at one set of resources: a child at work writes several times a second, and a notice says no
more than: read again."""

MOST_ADDRESSES = 100
"""That one stream or one connection may watch. Each is looked at whenever something has changed."""

GONE = "gone"


class Marks:
    """How some of a caller's resources stood when they were last looked at."""

    def __init__(self, sight: Sight, caller: Caller, *, listed: bool = False) -> None:
        self._sight = sight
        self._caller = caller
        self._marks: dict[Address, str] = {}
        self._children: tuple[str, ...] = ()
        self.listed = listed
        """Is the list watched as well?"""

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Those that are watched."""
        return tuple(self._marks)

    async def add(self, uri: str) -> Address:
        """Watch one more.

        Raises:
            NoSuchHandle: It is not the caller's.
        """
        address = read_address(uri)
        if address is None:
            raise NoSuchHandle("session")
        mark = await self._mark(address)
        self._marks[address] = mark
        return address

    def drop(self, uri: str) -> None:
        """Watch it no more."""
        address = read_address(uri)
        if address is not None:
            self._marks.pop(address, None)

    async def look(self) -> tuple[Sequence[Address], bool]:
        """Those that stand otherwise than at the last look, and whether the list does."""
        changed: list[Address] = []
        for address, before in tuple(self._marks.items()):
            try:
                now = await self._mark(address)
            except NoSuchHandle:
                now = GONE
            if address in self._marks and now != before:
                self._marks[address] = now
                changed.append(address)
        return changed, await self._list_changed()

    async def look_at_list(self) -> None:
        """Watch the list from now on."""
        self.listed = True
        await self._list_changed()

    async def _list_changed(self) -> bool:
        if not self.listed:
            return False
        children = tuple(child.id for child in await self._sight.open_children(self._caller))
        before, self._children = self._children, children
        return children != before

    async def _mark(self, address: Address) -> str:
        if address.transcript:
            before = self._marks.get(address, GONE)
            return str(await self._sight.length(self._caller, address.session, 0 if before == GONE else int(before)))
        return hashlib.sha256((await document(self._sight, self._caller, address)).encode()).hexdigest()


def updated(uri: str, meta: Meta | None = None) -> ResourceUpdatedNotification:
    """Read it again."""
    return ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=uri, _meta=meta))


def list_changed(meta: Meta | None = None) -> ResourceListChangedNotification:
    """List them again."""
    return ResourceListChangedNotification(params=NotificationParams(_meta=meta))


class ResourceSource:
    """A `Source`: changes of the resources that a stream names, and of their list."""

    def __init__(self, sight: Sight, *, caller_of: CallerOf) -> None:
        self._sight = sight
        self._caller_of = caller_of

    async def watch(self, ctx: Request, wanted: SubscriptionFilter) -> "ResourceWatching":
        """What is the caller's of what is wanted; the rest is left out of the acknowledgement."""
        marks = Marks(self._sight, self._caller_of(ctx))
        for uri in (wanted.resource_subscriptions or [])[:MOST_ADDRESSES]:
            try:
                await marks.add(uri)
            except NoSuchHandle:
                continue
        if wanted.resources_list_changed:
            await marks.look_at_list()
        return ResourceWatching(self._sight, marks)


class ResourceWatching:
    """See `Watching`."""

    def __init__(self, sight: Sight, marks: Marks) -> None:
        self._sight = sight
        self._marks = marks

    @property
    def honored(self) -> Mapping[str, Any]:
        """See `Watching.honored`."""
        uris = [str(address) for address in self._marks.addresses]
        lists = {"resourcesListChanged": True} if self._marks.listed else {}
        return {**({"resourceSubscriptions": uris} if uris else {}), **lists}

    async def tell(self, send: Send, meta: Meta) -> None:
        """See `Watching.tell`."""
        seen = -1
        while True:
            seen = await self._sight.change(seen)
            changed, lists = await self._marks.look()
            for address in changed:
                await send(updated(str(address), meta))
            if lists:
                await send(list_changed(meta))
            await anyio.sleep(PACE)

    def end(self) -> None:
        """Nothing is held."""
