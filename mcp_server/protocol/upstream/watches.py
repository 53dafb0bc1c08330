"""Whoever watches a resource of another server: the server is asked for news when the first wants it, over each new connection again, and
for no more when the last is gone.
"""

from collections.abc import Mapping
from typing import Protocol

import anyio
import anyio.lowlevel
import structlog
from anyio.abc import TaskGroup

from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream.link import Link
from mcp_server.protocol.upstream.watching import Wishes, served
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.news import News
from mcp_server.tools.whose import Whose

log = structlog.get_logger("upstream")

MOST = 200
"""Resources of one server that are watched over one connection: twice what one client may watch."""

AGAIN_SECONDS = 5.0
"""Before a server that cannot be reached is tried again for those who watch. It has a pause of its own, which may be longer."""

Key = tuple[str, str, str]
"""A server, its owner, and the root session that it is for: as connections have it."""


class Reach(Protocol):
    """How servers are reached."""

    @property
    def configs(self) -> Mapping[str, Upstream]:
        """As settings have them now."""
        ...

    async def linked(self, name: str, config: Upstream, whose: Whose) -> Link:
        """A connection. Raises `ToolFailure`."""
        ...


class Watched:
    """See `tools.shelves.Watched`."""

    def __init__(self, wishes: Wishes, own: str) -> None:
        self._wishes = wishes
        self._own = own
        self._ended = False
        self.wish = wishes.hold(own)

    @property
    def changes(self) -> int:
        return self.wish.changes

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._wishes.drop(self._own, self.wish)


class Watches:
    """Of a whole deployment."""

    def __init__(self, reach: Reach, news: News) -> None:
        self._reach = reach
        self._news = news
        self._wishes: dict[Key, Wishes] = {}
        self.group: TaskGroup | None = None
        """In which they are kept up. None: none can be made."""

    @property
    def roots(self) -> frozenset[str]:
        """The root sessions for which something is watched."""
        return frozenset(root for _, _, root in self._wishes if root)

    def left(self, root: str) -> None:
        """The root session is over: nothing is watched for it."""
        for (_, _, owner), wishes in self._wishes.items():
            if owner == root and root:
                wishes.refuse("the session is over")
                wishes.clear()

    async def begin(self, whose: Whose, server: str, own: str) -> Watched:
        """See `Shelves.watch`."""
        config = self._reach.configs.get(server)
        if config is None or self.group is None:
            raise ToolFailure(f"there is no server `{server}` any more")
        wishes = self._of(self.group, whose, server, config)
        current = wishes.current
        if own not in current and len(current) >= MOST:
            raise ToolFailure(f"{MOST} resources of `{server}` are watched already; unsubscribe from some")
        watched, agreed = Watched(wishes, own), False
        try:
            await watched.wish.settled.wait()
            agreed = not watched.wish.failure
        finally:
            if not agreed:
                watched.end()
        if not agreed:
            raise ToolFailure(f"`{server}`: {watched.wish.failure}")
        return watched

    def _of(self, group: TaskGroup, whose: Whose, server: str, config: Upstream) -> Wishes:
        key = _key(server, config, whose)
        wishes = self._wishes.get(key)
        if wishes is None:
            wishes = self._wishes[key] = Wishes(self._news.ring)
            group.start_soon(self._kept, key, whose, wishes)
        return wishes

    async def _kept(self, key: Key, whose: Whose, wishes: Wishes) -> None:
        """Over one connection after another, for as long as anybody watches."""
        await anyio.lowlevel.checkpoint()  # until the first has said what it is
        while wishes.current:
            turned = wishes.turned
            try:
                link = await self._linked(key, whose)
                await _told_by(link, wishes)
                continue
            except ToolFailure as error:
                wishes.refuse(str(error))
            except Exception:  # what one server does must not end the news of the others
                log.exception("a server could not be asked for news", server=key[0])
                wishes.refuse("it could not be asked for news")
            with anyio.move_on_after(AGAIN_SECONDS):
                await turned.wait()
        if self._wishes.get(key) is wishes:
            del self._wishes[key]

    async def _linked(self, key: Key, whose: Whose) -> Link:
        server = key[0]
        config = self._reach.configs.get(server)
        if config is None or _key(server, config, whose) != key:  # else everybody's news might come from somebody's own server
            raise ToolFailure("it is set otherwise now")
        return await self._reach.linked(server, config, whose)


async def _told_by(link: Link, wishes: Wishes) -> None:
    """Until the connection is over, or nothing is wanted any more."""
    client = link.client
    if client is None:
        return
    link.on_update = wishes.heard
    try:
        async with anyio.create_task_group() as group:

            async def until_over() -> None:
                await link.over.wait()
                group.cancel_scope.cancel()

            group.start_soon(until_over)
            await served(client, wishes)
            group.cancel_scope.cancel()
    finally:
        link.on_update = None


def _key(server: str, config: Upstream, whose: Whose) -> Key:
    return (server, "", "") if config.shareable else (server, whose.principal, whose.root)
