"""News of single resources of other servers: told to those alone who watch them and may read them, in every pairing of eras."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import (
    EmptyResult,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import Action
from mcp_server.principal import LOCAL
from mcp_server.protocol import other_news
from mcp_server.protocol.upstream import watches as watches_module
from mcp_server.protocol.upstream.watches import MOST
from mcp_server.tools.whose import Whose
from tests.behaviour.stories import bounded, until
from tests.behaviour.world import Connected, World, connect, make_world
from tests.protocol.connect import ERAS, Cell, Era
from tests.upstream.scripted import Scripted, ScriptedShelf, opener, told
from tests.upstream.test_lives import HERE, at

ONE, TWO = "remit://servers/play/note://1", "remit://servers/play/note://2"
PLAY: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}, "permission": {"play__turn": "allow"}}


@dataclass(kw_only=True)
class Watcher:
    """A client, the server behind Remit whose notes it watches, and what it was told."""

    connected: Connected
    world: World
    shelf: ScriptedShelf
    ours: Era
    heard: list[str]
    group: Any
    streams: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope])

    @property
    def client(self) -> Client:
        return self.connected.client

    async def watch(self, uri: str) -> bool:
        """Does it come to anything?"""
        if self.ours == "2025-11-25":
            request = SubscribeRequest(params=SubscribeRequestParams(uri=uri))
            await bounded(self.client.session.send_request(request, EmptyResult))
            return True
        return await bounded(self.group.start(self._listen, uri))

    async def unwatch(self, uri: str) -> None:
        if self.ours == "2025-11-25":
            request = UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri))
            await bounded(self.client.session.send_request(request, EmptyResult))
        else:
            self.streams.pop(uri).cancel()

    async def _listen(self, uri: str, *, task_status: Any) -> None:
        with anyio.CancelScope() as scope:
            async with self.client.listen(resource_subscriptions=[uri]) as stream:
                self.streams[uri] = scope
                task_status.started(stream.honored.resource_subscriptions == [uri])
                async for event in stream:
                    if isinstance(event, ResourceUpdated):
                        self.heard.append(event.uri)

    async def turn(self, uri: str) -> None:
        """The server says that it has changed."""
        await bounded(self.connected.call("play__turn", text=uri))

    async def until_heard(self, *uris: str) -> None:
        async def heard() -> bool:
            return set(self.heard) == set(uris)

        await until(heard)

    async def until_watched(self, *own: str) -> None:
        async def watched() -> bool:
            return {uri for uri, count in self.shelf.watched.items() if count} == set(own)

        await until(watched)


@asynccontextmanager
async def watching(folder: Path, ours: Era, theirs: Era, *, shelf: ScriptedShelf | None = None, **said: Any) -> AsyncGenerator[Watcher]:
    heard, shelf = list[str](), shelf or ScriptedShelf()
    play, world = Scripted(shelf=shelf), make_world(folder, settings={**PLAY, **said})

    async def turns(ctx: Any, arguments: Any) -> Any:
        await play.tell_of(ctx, arguments["text"])
        return told("turned")

    async def hears(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(message.params.uri)

    play.does["turn"] = turns
    cell = Cell(transport="memory", era=ours)
    async with (
        connect(world, cell, heard=hears if ours == "2025-11-25" else None, opener=opener({"play": play}, theirs)) as connected,
        anyio.create_task_group() as group,
    ):
        yield Watcher(connected=connected, world=world, shelf=shelf, ours=ours, heard=heard, group=group)
        group.cancel_scope.cancel()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_news, "PACE", 0.01)


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_a_client_is_told_of_the_resource_it_watches_and_of_no_other_until_it_does_not_watch_it(
    ours: Era, theirs: Era, tmp_path: Path
) -> None:
    async with watching(tmp_path, ours, theirs) as watcher:
        await watcher.turn("note://1")
        assert await watcher.watch(ONE)
        await watcher.until_watched("note://1")
        await watcher.turn("note://2")
        await watcher.turn("note://1")
        await watcher.until_heard(ONE)
        assert await watcher.watch(TWO)
        await watcher.until_watched("note://1", "note://2")
        watcher.heard.clear()
        await watcher.unwatch(ONE)
        await watcher.until_watched("note://2")
        await watcher.turn("note://1")
        # The SDK's own server of the later era tells of nothing but what is watched by that very URI.
        await watcher.turn("note://2/part" if theirs == "2025-11-25" else "note://2")
        await watcher.until_heard(TWO)
        await watcher.unwatch(TWO)
        await watcher.until_watched()


@pytest.mark.parametrize("ours", ERAS)
async def test_rules_that_do_not_let_it_be_read_without_asking_let_no_news_of_it_be_told(ours: Era, tmp_path: Path) -> None:
    rules = {"play__turn": "allow", "play__resources": {"note://1": "deny", "note://2": "ask"}}
    async with watching(tmp_path, ours, "2026-07-28", permission=rules) as watcher:
        for uri, why in ((ONE, "denied: "), (TWO, "rules ask a person"), ("remit://servers/nobody/note://1", "no session with that id")):
            await _refused(watcher, uri, why)
        audit = [(event.tool, event.action) for event in await watcher.connected.audit() if event.kind == "decision"]
    assert watcher.shelf.watched == {}
    assert audit == [("play__resources", Action.DENY), ("play__resources", Action.ASK)]


async def _refused(watcher: Watcher, uri: str, why: str) -> None:
    if watcher.ours == "2026-07-28":
        assert not await watcher.watch(uri)
        return
    with pytest.raises(MCPError, match=why):
        await watcher.watch(uri)


@pytest.mark.parametrize("ours", ERAS)
async def test_a_deny_made_since_stops_the_news(ours: Era, tmp_path: Path) -> None:
    async with watching(tmp_path, ours, "2026-07-28") as watcher:
        assert await watcher.watch(ONE)
        assert await watcher.watch(TWO)
        denied = {**PLAY, "permission": {**PLAY["permission"], "play__resources": {"note://1": "deny"}}}
        (watcher.world.places.config / "settings.yaml").write_text(json.dumps(denied))
        await watcher.turn("note://1")
        await watcher.turn("note://2")
        await watcher.until_heard(TWO)


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_what_its_server_does_not_tell_is_told_at_once(ours: Era, theirs: Era, tmp_path: Path) -> None:
    shelf = ScriptedShelf(untold=frozenset({"note://1"}))
    async with watching(tmp_path, ours, theirs, shelf=shelf) as watcher:
        await _refused(watcher, ONE, "no news of that")
        assert await watcher.watch(TWO)
        await watcher.until_watched("note://2")


async def test_one_stream_names_resources_of_other_servers_and_sessions_and_is_told_what_it_has(tmp_path: Path) -> None:
    async with watching(tmp_path, "2026-07-28", "2026-07-28") as watcher:
        await bounded(watcher.connected.call("session_info"))
        (root, *_) = await watcher.connected.store.sessions(LOCAL.key, roots=True, limit=1)
        wanted = [f"remit://sessions/{root.id}", TWO, "remit://sessions/ses_a", "remit://servers/play/", ONE]
        async with watcher.client.listen(resource_subscriptions=wanted) as stream:
            assert set(stream.honored.resource_subscriptions or ()) == {wanted[0], TWO, ONE}


@pytest.mark.parametrize("theirs", ERAS)
async def test_it_is_watched_over_the_next_connection_too_and_what_was_missed_is_told(
    theirs: Era, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches_module, "AGAIN_SECONDS", 0.01)
    async with at(tmp_path, lifetime_seconds=100, idle_seconds=10) as made:
        shelf = made.play.shelf = ScriptedShelf()
        made.era = theirs
        watched = await bounded(made.servers.shelves.watch(HERE, "play", "note://1"))
        assert (watched.changes, shelf.watched["note://1"], made.play.entered) == (0, 1, 1)
        made.now = 50.0
        made.servers.look()  # nobody calls it, and somebody watches
        assert await made.call() == "said hi"
        assert made.play.entered == 1
        made.now = 150.0
        made.servers.look()

        async def anew() -> bool:
            return watched.changes == 1 and made.play.entered == 2 and shelf.watched["note://1"] >= 1

        await until(anew)


@pytest.mark.parametrize("theirs", ERAS)
async def test_two_who_watch_the_same_at_a_shared_server_are_one_subscription_and_the_last_one_ends_it(theirs: Era, tmp_path: Path) -> None:
    async with at(tmp_path, shareable=True) as made:
        shelf = made.play.shelf = ScriptedShelf()
        made.era = theirs
        bob = Whose(principal="bob", workspace="/there", root="ses_two")
        first, second = [await bounded(made.servers.shelves.watch(whose, "play", "note://1")) for whose in (HERE, bob)]
        assert (shelf.watched["note://1"], made.play.entered) == (1, 1)
        first.end()
        first.end()
        assert await made.call() == "said hi"
        assert shelf.watched["note://1"] == 1
        second.end()

        async def gone() -> bool:
            return shelf.watched["note://1"] == 0

        await until(gone)


async def test_what_two_people_watch_at_servers_of_their_own_stays_apart_and_is_bounded(tmp_path: Path) -> None:
    async with at(tmp_path) as made:
        made.play.shelf = ScriptedShelf()
        bob = Whose(principal="bob", workspace="/here", root="ses_one")  # the worst case

        async def turns(ctx: Any, _: Any) -> Any:
            await ctx.session.send_resource_updated("note://1")
            return told("turned")

        made.play.does["turn"], made.era = turns, "2025-11-25"
        other = await bounded(made.servers.shelves.watch(HERE, "play", "note://12"))
        mine, his = [await bounded(made.servers.shelves.watch(whose, "play", "note://1")) for whose in (HERE, bob)]
        assert await made.call("turn") == "turned"

        async def heard() -> bool:
            return mine.changes == 1

        await until(heard)
        assert (his.changes, other.changes) == (0, 0)
        for number in range(2, MOST):
            await bounded(made.servers.shelves.watch(HERE, "play", f"more://{number}"))
        with pytest.raises(ToolFailure, match=f"{MOST} resources of `play` are watched already"):
            await bounded(made.servers.shelves.watch(HERE, "play", "more://0"))
        made.servers.left("ses_one")

        async def left() -> bool:
            return "ses_one" not in made.servers.roots

        await until(left)
