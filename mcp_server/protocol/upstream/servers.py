"""The other servers of a deployment: a connection to each is made when it is needed, for whom it is needed, and ended when it is not.

See `Upstreams`, which this is. Nothing that a server does takes another one's tools away, or a call that another one has.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup
from mcp.server.lowlevel.server import Server

from mcp_server.errors import OutcomeUnknown, StoreError, ToolFailure
from mcp_server.protocol.upstream.calling import done
from mcp_server.protocol.upstream.link import Ends, Link, Transport
from mcp_server.protocol.upstream.naming import Definition, text_of
from mcp_server.protocol.upstream.pinning import marked
from mcp_server.protocol.upstream.shelves import OtherShelves
from mcp_server.protocol.upstream.standing import KEPT_SECONDS, Standing, standing_of
from mcp_server.settings.upstream import Upstream
from mcp_server.store.protocol import Store
from mcp_server.store.upstreams import Pin
from mcp_server.tools.base import SEPARATOR
from mcp_server.tools.foreign import ForeignTool, News, Order, Received, Whose

log = structlog.get_logger("upstream")

LOOK_SECONDS = 5.0
"""Between two looks for connections that nobody needs any more."""

MOST_LINKS = 200
"""Connections of one process: more than a team's people keep busy, fewer than what a machine can hold as processes."""

MOST_OF_ONE = 50
"""Of these for one person: nobody takes them all."""

Opener = Callable[[str, Upstream, Whose, Ends], "Transport | Server[Any]"]
"""The way to a server, not yet entered."""

AT = "at "
"""Before a workspace, in the place of a root session: no session's id begins so."""

_Key = tuple[str, str, str]
"""A server, its owner, and the root session that it is for."""


class Servers:
    """See `Upstreams`."""

    def __init__(
        self,
        *,
        settings: Callable[[], Mapping[str, Upstream]],
        recent: Callable[[], Mapping[str, Upstream]] | None = None,
        store: Store,
        opener: Opener,
        version: str,
        clock: Callable[[], float],
        steady: Callable[[], float],
    ) -> None:
        """`settings`: the servers as they are set now; `recent`: as they were a moment ago, which costs no look. `clock`: seconds since
        the epoch; `steady`: seconds that only go forward.
        """
        self._settings = settings
        self._recent = recent or settings
        self._store = store
        self._opener = opener
        self._version = version
        self._clock = clock
        self._steady = steady
        self._links: dict[_Key, Link] = {}
        self._replaced: set[Link] = set()
        """Of settings that are no more, with calls under way, which go on; and what made room and is about to end."""
        self._standings: dict[tuple[str, str], Standing] = {}
        self._group: TaskGroup | None = None
        self.news = News()
        """That what they offer may have changed."""
        self.shelves = OtherShelves(self, self.news)
        """What they offer beside tools."""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Servers can be reached inside; leaving ends all that was started for them."""
        async with anyio.create_task_group() as group:
            self._group = self.shelves.watches.group = group
            group.start_soon(self._looking)
            try:
                yield
            finally:
                self._group = self.shelves.watches.group = None
                await self._rested()  # now: programs take seconds to end, and whoever ends Remit may not wait for that
                group.cancel_scope.cancel()
        await self._rested()

    async def _rested(self) -> None:
        for standing in self._standings.values():
            standing.rest()
        with anyio.CancelScope(shield=True):
            await self._keep()

    # ---- what there is --------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._settings())

    @property
    def configs(self) -> Mapping[str, Upstream]:
        """The servers as they are set now."""
        return self._settings()

    async def tools(self, whose: Whose) -> tuple[ForeignTool, ...]:
        found: dict[str, Mapping[str, Definition]] = {}

        async def ask(name: str, config: Upstream) -> None:
            try:
                found[name] = await self._known(name, config, whose)
            except Exception:  # one server must not take everybody's tools away
                log.exception("the tools of a server could not be had", server=name)

        settings = self._settings()
        async with anyio.create_task_group() as group:
            for name, config in settings.items():
                group.start_soon(ask, name, config)
        return tuple(one.tool for name in settings for one in found.get(name, {}).values())

    async def tool(self, whose: Whose, name: str) -> ForeignTool | None:
        server = name.partition(SEPARATOR)[0]
        config = self._recent().get(server) or self._settings().get(server)
        if config is None:
            return None
        known = await self._known(server, config, whose)
        one = next((each for each in known.values() if each.tool.name == name), None)
        if one is None:
            return None
        pins = await self._store.pins(whose.principal, server)
        return marked(one, pins.get(one.tool.name))

    def notices(self, principal: str) -> tuple[str, ...]:
        mine = [one for (_, owner), one in self._standings.items() if owner in ("", principal) and one.server in self._settings()]
        return tuple(f"{one.server}: {line}" for one in mine for line in _complaints(one))

    async def _known(self, name: str, config: Upstream, whose: Whose) -> Mapping[str, Definition]:
        """Its tools, as it says them now, or said them last."""
        standing = await self.standing(name, config, whose)
        link = self.open_link(name, config, whose)
        if link is not None and link.stale:
            with suppress(ToolFailure):
                await link.refresh()
                standing.listed(link)
        if standing.tools is None and self._steady() >= standing.retry_at:
            with suppress(ToolFailure), anyio.move_on_after(KEPT_SECONDS if standing.kept else None):
                await self.linked(name, config, whose)
        return standing.known

    async def standing(self, name: str, config: Upstream, whose: Whose) -> Standing:
        """What is known of it on behalf of its owner."""
        owner = _owner(config, whose)
        known = self._standings.get((name, owner))
        if known is None or known.config != config:
            read = await standing_of(self._store, name, config, owner)
            known = self._standings.get((name, owner))
            if known is None or known.config != config:
                known = self._standings[name, owner] = read
        return known

    # ---- calls ----------------------------------------------------------------------------------

    async def asked(self, whose: Whose, tool: ForeignTool) -> None:
        if not tool.pinned and tool.changed is None:
            await self._store.pin(whose.principal, tool.server, tool.name, self._pin_of(tool), first=True)

    async def call(self, order: Order) -> Received:
        name, tool = order.tool.server, order.tool.own_name
        config = self._recent().get(name)
        if config is None:
            raise ToolFailure(f"there is no server `{name}` any more")
        link = await self.linked(name, config, order.whose)
        standing = await self.standing(name, config, order.whose)
        await link.refresh()
        if link.tools is not standing.tools:
            standing.listed(link)
        now = link.tools.get(tool)
        if now is None:
            raise ToolFailure(f"`{name}` has no tool `{tool}` any more")
        if now.tool.digest != order.tool.digest or not await self._pinned(order.whose.principal, order.tool):
            raise ToolFailure(f"nothing was done: `{name}` changed what it says of `{tool}` while this was decided; call again")
        return await self._made(link, standing, order)

    async def _made(self, link: Link, standing: Standing, order: Order) -> Received:
        began, failed = self._steady(), True
        link.used = began

        async def again() -> Link:
            if self._group is None or self._recent().get(link.server) != link.config:
                raise OutcomeUnknown("Remit is ending" if self._group is None else "settings have another server of that name now")
            return await self.linked(link.server, link.config, order.whose)

        try:
            result = await done(link, order, again)
            failed = result.failed
            return result
        finally:
            link.used = self._steady()
            standing.used(order.tool.own_name, seconds=link.used - began, failed=failed)

    async def _pinned(self, principal: str, tool: ForeignTool) -> bool:
        """It was allowed as it is: from now on a change asks. False: another one was pinned since it was looked at."""
        if tool.pinned:
            return True
        pins = await self._store.pins(principal, tool.server)
        pin = pins.get(tool.name)
        if pin is None or tool.changed is not None:
            await self._store.pin(principal, tool.server, tool.name, self._pin_of(tool))
        return pin is None or tool.changed is not None or pin.digest == tool.digest

    def _pin_of(self, tool: ForeignTool) -> Pin:
        return Pin(digest=tool.digest, definition=text_of(tool.said), at=self._clock())

    # ---- connections ----------------------------------------------------------------------------

    def _link_of(self, name: str, config: Upstream, whose: Whose) -> Link | None:
        """The connection that serves them now. The first tree of a principal takes over what was started to see the tools."""
        key = _key(name, config, whose)
        link = self._links.get(key)
        if link is None and whose.root and not config.shareable:
            spare = self._links.pop(_key(name, config, replace(whose, root="")), None)
            if spare is not None:
                link = self._links[key] = spare
        if link is not None and link.config != config:
            del self._links[key]
            self._replace(link)
            return None
        return link

    def _replace(self, link: Link) -> None:
        """Nobody new comes to it; it ends once its calls have."""
        link.left = True
        self._replaced.add(link)
        if not link.calls:
            link.end()

    def open_link(self, name: str, config: Upstream, whose: Whose) -> Link | None:
        """A connection that can be used now. None: there is none, and none is made. Who only looks, looks at that of any tree of theirs."""
        link = self._link_of(name, config, whose)
        if link is not None and link.usable:
            return link
        theirs = [one for (server, owner, _), one in self._links.items() if (server, owner) == (name, whose.principal) and not whose.root]
        return next((one for one in theirs if one.usable and one.config == config and one.workspace == whose.workspace), None)

    async def linked(self, name: str, config: Upstream, whose: Whose) -> Link:
        """A connection that can be used, made where there is none.

        Raises:
            ToolFailure: None can be had now.
        """
        link = self._link_of(name, config, whose)
        if link is None or link.over.is_set() or (link.ready.is_set() and not link.usable):
            link = await self._begun(name, config, whose)
        if not link.ready.is_set():
            await link.ready.wait()
        if not link.usable:
            raise ToolFailure(f"`{name}` cannot be reached: {link.failure or 'it was ended'}")
        link.used = self._steady()
        return link

    async def _begun(self, name: str, config: Upstream, whose: Whose) -> Link:
        standing = await self.standing(name, config, whose)
        pause = standing.retry_at - self._steady()
        if pause > 0:
            raise ToolFailure(f"`{name}` cannot be reached: {standing.noted.failure}; it is tried again in {pause:.0f} s")
        if self._group is None:
            raise ToolFailure(f"`{name}` cannot be reached: Remit is ending")
        begun = self._link_of(name, config, whose)
        if begun is not None and (begun.usable or not begun.ready.is_set()):
            return begun  # somebody else was faster
        if full := self._full(whose):
            raise ToolFailure(f"`{name}` cannot be reached: {full}; call again once one of their calls has ended")
        link = Link(
            name,
            config,
            lambda ends: self._opener(name, config, whose, ends),
            version=self._version,
            born=self._steady(),
            on_ready=lambda made: standing.connected(made, self._clock(), self._steady() - made.born),
            workspace=whose.workspace,
            on_change=lambda kind: self.news.tell(standing.owner, kind),
            on_finish=self.news.finish,
        )
        key = _key(name, config, whose)
        self._links[key] = link
        self._group.start_soon(self._lived, link, standing)
        return link

    def _full(self, whose: Whose) -> str:
        """Why there is no room for one more. Empty: there is some. The connection that was unused for the longest makes it."""
        theirs = [link for (_, owner, _), link in self._links.items() if owner == whose.principal]
        if len(theirs) >= MOST_OF_ONE:
            crowd, why = theirs, f"{MOST_OF_ONE} connections of yours to other servers are in use already"
        elif len(self._links) + len(self._replaced) >= MOST_LINKS:
            crowd, why = list(self._links.values()), f"{MOST_LINKS} connections to other servers are in use already"
        else:
            return ""
        idle = [link for link in crowd if link.ready.is_set() and not link.calls and link.on_update is None]
        if not idle:
            return why
        unused = min(idle, key=lambda link: link.used)
        self._forget(unused)
        self._replace(unused)
        return ""

    def _forget(self, link: Link) -> None:
        for key in [key for key, one in self._links.items() if one is link]:
            del self._links[key]

    async def _lived(self, link: Link, standing: Standing) -> None:
        """One connection, from its beginning to its end."""
        await link.live()
        self._forget(link)
        self._replaced.discard(link)
        standing.parted(link, self._clock(), self._steady())
        if link.failure:
            log.warning("a server cannot be reached or was lost", server=link.server, why=link.failure)

    @property
    def roots(self) -> frozenset[str]:
        linked = (owner for _, _, owner in self._links if owner and not owner.startswith(AT))
        return frozenset((*linked, *self.shelves.watches.roots))

    @property
    def replaced(self) -> tuple[Link, ...]:
        """Connections of settings that are no more, for the calls that they have."""
        return tuple(self._replaced)

    def left(self, root: str) -> None:
        self.shelves.watches.left(root)
        for (_, _, owner), link in self._links.items():
            if owner == root and root:
                link.left = True
                if not link.calls:
                    link.end()

    # ---- upkeep ---------------------------------------------------------------------------------

    async def _looking(self) -> None:
        while True:
            await anyio.sleep(LOOK_SECONDS)
            self.look()
            await self._keep()

    def look(self) -> None:
        """End connections that nobody needs: unused for long, old, of settings that are no more, or left."""
        now, settings = self._steady(), self._settings()
        for link in (*self._links.values(), *self._replaced):
            unused = now - link.used >= link.config.idle_seconds and link.on_update is None
            over = unused or link.left or now - link.born >= link.config.lifetime_seconds
            if link.calls == 0 and (over or settings.get(link.server) != link.config):
                link.end()

    async def _keep(self) -> None:
        for standing in tuple(self._standings.values()):
            try:
                await standing.keep(self._store, self._clock)
            except StoreError as error:
                log.warning("what is known of a server could not be written down", server=standing.server, why=str(error))


def _owner(config: Upstream, whose: Whose) -> str:
    return "" if config.shareable else whose.principal


def _key(name: str, config: Upstream, whose: Whose) -> _Key:
    # What was started to see the tools was started in a workspace, and serves no other one.
    return (name, "", "") if config.shareable else (name, whose.principal, whose.root or f"{AT}{whose.workspace}")


def _complaints(standing: Standing) -> tuple[str, ...]:
    failed = (standing.noted.failure,) if standing.noted.state == "failed" else ()
    return (*failed, *standing.noted.left_out)
