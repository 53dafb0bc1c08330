"""News of other servers for one client: that a list has changed, or a resource that it watches. And how each era has it told."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import structlog
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    ServerNotification,
    SubscriptionFilter,
    Tool,
)

from mcp_server.errors import NoSuchHandle, ToolFailure
from mcp_server.protocol.calls import CallerOf, Request
from mcp_server.protocol.lines import Line, line_of
from mcp_server.protocol.list_changes import FIELDS, PACE, SENDING, Lists, changed, shelves_mark, tools_mark
from mcp_server.protocol.listening import Meta, Send
from mcp_server.protocol.resource_changes import updated
from mcp_server.protocol.resources import not_yours
from mcp_server.protocol.timing import Timing
from mcp_server.protocol.upstream.addresses import read_uri
from mcp_server.records import SessionRecord
from mcp_server.sessions.front import Caller, Front, Shelf, Watch
from mcp_server.tools.news import KINDS, Kind

log = structlog.get_logger("protocol")

MOST_WATCHED = 100
"""Resources of other servers that one stream or one connection may watch."""

BEGIN_SECONDS = 15.0
"""That servers have to take what one stream watches of them. What they have not taken then is left out of the acknowledgement."""


class Followed:
    """What one client has news of."""

    def __init__(self, front: Front, caller: Caller) -> None:
        self._front = front
        self._caller = caller
        self.lists = Lists(front, caller)
        self._watches: dict[str, Watch] = {}

    @property
    def uris(self) -> Sequence[str]:
        """The resources, as they are offered here."""
        return tuple(self._watches)

    async def watch(self, root: SessionRecord, uri: str) -> None:
        """Have news of one more resource.

        Raises:
            NoSuchHandle: There is none for this caller.
            ToolFailure: No news of it will come, or too many are watched.
        """
        address = read_uri(uri)
        if address is None:
            raise NoSuchHandle("session")
        if uri in self._watches:
            return
        if len(self._watches) >= MOST_WATCHED:
            raise ToolFailure(f"{MOST_WATCHED} resources are watched here already; unsubscribe from some")
        watch = await self._front.watch(self._caller, root, *address)
        if uri in self._watches:  # asked for twice at once
            watch.end()
        else:
            self._watches[uri] = watch

    def drop(self, uri: str) -> None:
        """Have no more of it. What was not watched is no error."""
        watch = self._watches.pop(uri, None)
        if watch is not None:
            watch.end()

    def end(self) -> None:
        """Have no more of anything."""
        for uri in self.uris:
            self.drop(uri)

    async def look(self, meta: Meta | None = None) -> Sequence[ServerNotification]:
        """What there is to tell since the last look."""
        lists = [changed(kind, meta) for kind in await self.lists.look()]
        return [*lists, *[updated(uri, meta) for uri, watch in tuple(self._watches.items()) if await watch.changed()]]


# ---- from 2026-07-28 on -----------------------------------------------------------------------------


class OtherSource:
    """A `Source`."""

    def __init__(self, front: Front, *, caller_of: CallerOf, timing: Timing) -> None:
        self._front = front
        self._caller_of = caller_of
        self._timing = timing

    async def watch(self, ctx: Request, wanted: SubscriptionFilter) -> "OtherWatching":
        """Whatever is wanted of it. What the lists are now is not looked up: no server is started for that."""
        followed = Followed(self._front, self._caller_of(ctx))
        asked: Mapping[Kind, bool | None] = {
            "tools": wanted.tools_list_changed,
            "prompts": wanted.prompts_list_changed,
            "resources": wanted.resources_list_changed,
        }
        for kind in KINDS:
            if asked[kind]:
                followed.lists.watch(kind)
        uris = [uri for uri in dict.fromkeys(wanted.resource_subscriptions or []) if read_uri(uri) is not None]
        if uris:
            await self._begun(ctx, followed, uris[:MOST_WATCHED])
        return OtherWatching(self._front, followed)

    async def _root(self, ctx: Request) -> SessionRecord:
        caller, line = self._caller_of(ctx), line_of(ctx, self._front, self._timing)
        if line is not None:
            return await line.root(caller)
        with anyio.fail_after(self._timing.begin, shield=True):
            return await self._front.open_root(caller, shared=True)

    async def _begun(self, ctx: Request, followed: Followed, uris: Sequence[str]) -> None:
        root, whole = await self._root(ctx), False

        async def begin(uri: str) -> None:
            try:
                await followed.watch(root, uri)
            except (NoSuchHandle, ToolFailure) as error:  # left out of the acknowledgement, which has no place for words
                log.info("a resource is not watched", uri=uri, why=str(error))

        try:
            with anyio.move_on_after(BEGIN_SECONDS):
                async with anyio.create_task_group() as group:
                    for uri in uris:
                        group.start_soon(begin, uri)
            whole = True
        finally:
            if not whole:
                followed.end()


class OtherWatching:
    """See `Watching`."""

    def __init__(self, front: Front, followed: Followed) -> None:
        self._front = front
        self._followed = followed

    @property
    def honored(self) -> Mapping[str, Any]:
        """See `Watching.honored`."""
        lists = {FIELDS[kind]: True for kind in sorted(self._followed.lists.watched)}
        uris = list(self._followed.uris)
        return {**lists, **({"resourceSubscriptions": uris} if uris else {})}

    async def tell(self, send: Send, meta: Meta) -> None:
        """See `Watching.tell`."""
        while True:
            seen = self._front.news.total
            for notification in await self._followed.look(meta):
                await send(notification)
            await anyio.sleep(PACE)
            await self._front.news.after(seen)

    def end(self) -> None:
        """See `Watching.end`."""
        self._followed.end()


# ---- up to 2025-11-25 -------------------------------------------------------------------------------


class Followers:
    """Every connection that was given a list, or watches a resource: it is told until it ends."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._by_line: dict[Line, tuple[Followed, ServerSession]] = {}

    def gave_tools(self, line: Line, session: ServerSession, caller: Caller, tools: Sequence[Tool]) -> None:
        """It was just given these."""
        self._of(line, session, caller).lists.watch("tools", tools_mark(tools))

    def gave_shelves(self, line: Line, session: ServerSession, caller: Caller, kind: Kind, shelves: Sequence[Shelf]) -> None:
        """Likewise."""
        self._of(line, session, caller).lists.watch(kind, shelves_mark(shelves, kind))

    async def subscribe(self, ctx: Request, line: Line, caller: Caller, uri: str) -> bool:
        """Watch a resource. False: it is no other server's.

        Raises:
            MCPError: No news of it will come.
        """
        if read_uri(uri) is None:
            return False
        try:
            await self._of(line, ctx.session, caller).watch(await line.root(caller), uri)
        except NoSuchHandle:
            raise not_yours(ctx, uri) from None
        except ToolFailure as error:
            raise MCPError(INVALID_REQUEST, str(error)) from error
        if line.closed:
            self._gone(line)
        return True

    def unsubscribe(self, line: Line, uri: str) -> bool:
        """Watch it no more. False: it is no other server's."""
        if line in self._by_line:
            self._by_line[line][0].drop(uri)
        return read_uri(uri) is not None

    def _of(self, line: Line, session: ServerSession, caller: Caller) -> Followed:
        if line not in self._by_line:
            followed = Followed(self._front, caller)
            self._by_line[line] = (followed, session)
            line.on_close.append(lambda: self._gone(line))
        return self._by_line[line][0]

    def _gone(self, line: Line) -> None:
        found = self._by_line.pop(line, None)
        if found is not None:
            found[0].end()

    async def run(self) -> None:
        """Tell them, until cancelled."""
        while True:
            seen = self._front.news.total
            await self._tell_all()
            await anyio.sleep(PACE)
            await self._front.news.after(seen)

    async def _tell_all(self) -> None:
        for line, (followed, session) in tuple(self._by_line.items()):
            if line.closed:
                self._gone(line)
                continue
            for notification in await followed.look():
                with anyio.move_on_after(SENDING):
                    try:
                        await session.send_notification(notification)
                    except Exception as error:  # one connection's fault must not end the telling of the others
                        log.info("a change could not be told", exc_info=error)
