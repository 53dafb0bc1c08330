"""How long connections to other servers live, when a lost one is tried again, and what a list may hold: with a clock that tests set."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import ListToolsResult, PaginatedRequestParams, Tool

from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream import servers
from mcp_server.protocol.upstream.link import MOST_PAGES, MOST_TOOLS, Ends
from mcp_server.protocol.upstream.notes import noted
from mcp_server.protocol.upstream.servers import Servers
from mcp_server.settings.upstream import Upstream
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from mcp_server.tools.foreign import Order, Whose
from mcp_server.tools.hearing import Deaf
from tests.behaviour.stories import bounded, until
from tests.protocol.connect import Era
from tests.upstream.scripted import OBJECT, Context, Nobody, OldEra, Scripted, told

HERE = Whose(principal="alice", workspace="/here", root="ses_one")


@dataclass(slots=True, kw_only=True)
class At:
    """The other servers of a deployment that has one, which may be out of reach."""

    servers: Servers
    play: Scripted
    store: Store
    said: dict[str, Any]
    """Its settings, beside its program."""
    tried: list[str] = field(default_factory=list[str])
    """For which workspace it was tried to reach it, each time."""
    now: float = 0.0
    away: bool = False
    era: Era = "2026-07-28"

    async def call(self, tool: str = "say", whose: Whose = HERE) -> str:
        found = await bounded(self.servers.tool(whose, f"play__{tool}"))
        assert found is not None

        async def unheard(*_: object) -> None:
            pass

        order = Order(whose=whose, tool=found, arguments={"text": "hi"}, progress=unheard, hearer=Deaf(), ask=Nobody())
        received = await bounded(self.servers.call(order))
        return "".join(getattr(part, "text", "") for part in received.parts)

    def holding(self) -> tuple[anyio.Semaphore, anyio.Event]:
        """Have each call of `wait` say that it has begun, and end when it is let."""
        begun, go = anyio.Semaphore(0), anyio.Event()

        async def waits(*_: Any) -> Any:
            begun.release()
            await go.wait()
            return told("it was let end")

        self.play.does["wait"] = waits
        return begun, go

    async def refused(self) -> str:
        with pytest.raises(ToolFailure) as failure:
            await self.call()
        return str(failure.value)


@asynccontextmanager
async def at(folder: Path, **said: Any) -> AsyncGenerator[At]:
    store, play = open_store(folder / "remit.db"), Scripted()

    def way(name: str, config: Upstream, whose: Whose, ends: Ends) -> Any:
        made.tried.append(whose.workspace)
        ends.complaint = lambda: "cannot fetch it: self-signed certificate"
        if made.away:
            raise ConnectionRefusedError("nobody is there")
        return play.server() if made.era == "2026-07-28" else OldEra(play.server())

    servers = Servers(
        settings=lambda: {"play": Upstream(command="unused", **said)},
        store=store,
        opener=way,
        version="1",
        clock=lambda: made.now,
        steady=lambda: made.now,
    )
    made = At(servers=servers, play=play, said=said, store=store)
    try:
        async with servers.open():
            yield made
    finally:
        await store.close()


async def test_a_connection_that_has_lived_its_time_is_made_anew_but_never_under_a_call(tmp_path: Path) -> None:
    async with at(tmp_path, lifetime_seconds=100, idle_seconds=1000) as made:
        begun, go = made.holding()
        answers: list[str] = []

        async def call() -> None:
            answers.append(await made.call("wait"))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await bounded(begun.acquire())
            made.now = 150.0
            made.servers.look()
            assert await made.call() == "said hi"
            go.set()
        assert (answers, made.play.entered) == (["it was let end"], 1)
        made.servers.look()

        async def anew() -> bool:
            return await made.call() == "said hi" and made.play.entered == 2

        await until(anew)


async def test_one_persons_connections_make_room_for_their_own_and_take_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "MOST_OF_ONE", 2)
    alices = [replace(HERE, root=f"ses_{number}") for number in range(4)]
    bobs = replace(HERE, principal="bob", root="ses_bobs")
    async with at(tmp_path) as made:
        begun, go = made.holding()
        for made.now, whose in enumerate((bobs, *alices[:3]), 1):
            assert await made.call(whose=whose) == "said hi"
        assert made.servers.roots == {bobs.root, alices[1].root, alices[2].root}, "the one that was unused for the longest made room"
        async with anyio.create_task_group() as group:
            for whose in alices[1:3]:
                group.start_soon(made.call, "wait", whose)
            for _ in range(2):
                await bounded(begun.acquire())
            with pytest.raises(ToolFailure, match="2 connections of yours to other servers are in use already"):
                await made.call(whose=alices[3])
            assert await made.call(whose=bobs) == "said hi"
            go.set()
        assert await made.call(whose=alices[3]) == "said hi"


async def test_where_all_connections_are_taken_one_that_is_in_use_never_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST_LINKS", 1)
    bobs = replace(HERE, principal="bob", root="ses_bobs")
    async with at(tmp_path) as made:
        begun, go = made.holding()
        for whose in (bobs, HERE):
            assert await made.call(whose=whose) == "said hi"
        assert made.servers.roots == {HERE.root}
        async with anyio.create_task_group() as group:
            group.start_soon(made.call, "wait")
            await bounded(begun.acquire())
            with pytest.raises(ToolFailure, match="1 connections to other servers are in use already"):
                await made.call(whose=bobs)
            go.set()
        assert await made.call(whose=bobs) == "said hi"
        assert made.servers.roots == {bobs.root}


@pytest.mark.parametrize("shared", [False, True])
async def test_settings_that_change_under_a_call_take_nothing_from_it_and_hold_for_the_next(shared: bool, tmp_path: Path) -> None:
    async with at(tmp_path, shareable=shared) as made:
        begun, go = made.holding()
        answers: list[str] = []

        async def call() -> None:
            answers.append(await made.call("wait"))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await bounded(begun.acquire())
            made.said["call_seconds"] = 10
            assert await made.call() == "said hi"
            made.servers.look()
            assert [old.usable for old in made.servers.replaced] == [True]
            go.set()
        assert (answers, made.play.entered) == (["it was let end"], 2)
        made.servers.look()

        async def ended() -> bool:
            return made.servers.replaced == ()

        await until(ended)


async def test_a_server_that_cannot_be_reached_is_left_alone_for_longer_each_time_up_to_a_minute(tmp_path: Path) -> None:
    async with at(tmp_path) as made:
        assert await made.call() == "said hi"
        made.away, made.now = True, 1000.0
        made.servers.look()  # unused for so long, it is ended

        async def ended() -> bool:
            return "ConnectionRefusedError" in await made.refused()

        await until(ended)
        for pause in (1, 2, 4, 8, 16, 32, 60, 60):
            tries = len(made.tried)
            assert f"it is tried again in {pause} s" in await made.refused()
            made.now += pause - 0.01
            await made.refused()
            assert len(made.tried) == tries
            made.now += 0.02
            await made.refused()
            assert len(made.tried) == tries + 1
        made.away, made.now = False, made.now + 61
        assert await made.call() == "said hi"


async def test_what_was_started_to_see_the_tools_serves_the_first_tree_of_its_workspace_alone(tmp_path: Path) -> None:
    async with at(tmp_path) as made:
        for workspace in ("/here", "/there", "/here"):
            await bounded(made.servers.tools(Whose(principal="alice", workspace=workspace)))
        assert made.tried == ["/here"]  # the other workspace's people see the same tools
        assert await made.call() == "said hi"
        assert made.tried == ["/here"]
        await made.call(whose=Whose(principal="alice", workspace="/there", root="ses_two"))
        await made.call(whose=Whose(principal="alice", workspace="/here", root="ses_three"))
        assert made.tried == ["/here", "/there", "/here"]


async def test_a_list_without_an_end_and_one_of_too_many_are_cut_and_it_is_said(tmp_path: Path) -> None:
    async with at(tmp_path) as made:
        pages: list[int] = []

        async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
            pages.append(len(pages))
            few = [Tool(name=f"t{len(pages)}", description="x", input_schema=OBJECT)]
            return ListToolsResult(tools=few, next_cursor=f"{len(pages)}")

        made.play.lister = list_tools
        offered = await bounded(made.servers.tools(HERE))
        assert (len(offered), len(pages)) == (MOST_PAGES, MOST_PAGES)
        assert f"it lists more than {MOST_TOOLS} tools" in made.servers.notices("alice")[0]


async def test_a_list_of_too_many_is_cut(tmp_path: Path) -> None:
    async with at(tmp_path) as made:
        made.play.does |= {f"t{number}": made.play.does["say"] for number in range(MOST_TOOLS + 50)}
        offered = await bounded(made.servers.tools(HERE))
        assert len(offered) == MOST_TOOLS
        assert "the rest is left out" in made.servers.notices("alice")[0]


async def test_what_was_called_is_written_down_before_programs_are_waited_for(tmp_path: Path) -> None:
    kept: list[str] = []
    async with at(tmp_path) as made:

        async def ends() -> None:
            with anyio.CancelScope(shield=True):
                found = await made.store.found(HERE.principal, "play")
                kept.append("" if found is None else found.said)

        made.play.ends = ends
        await made.call()
    assert [(noted(said).state, noted(said).use["say"].calls) for said in kept] == [("at rest", 1)]


async def test_a_server_that_does_not_come_up_in_time_is_told_of_with_what_it_complained_of(tmp_path: Path) -> None:
    async with at(tmp_path, handshake_seconds=0.05) as made:

        async def list_tools(*_: Any) -> Any:
            await anyio.sleep_forever()

        made.play.lister = list_tools
        assert await bounded(made.servers.tools(HERE)) == ()
        (notice,) = made.servers.notices("alice")
        assert notice.endswith("within 0.05 s (`handshake_seconds`); its last words: cannot fetch it: self-signed certificate")


async def test_a_list_that_is_none_is_a_failure_in_words(tmp_path: Path) -> None:
    async with at(tmp_path) as made:

        async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> Any:
            return {"tools": "all of them"}

        made.play.lister = list_tools
        assert await bounded(made.servers.tools(HERE)) == ()
        (notice,) = made.servers.notices("alice")
        assert notice.startswith("play: ")


async def test_what_a_schema_says_is_looked_into_by_nobody(tmp_path: Path) -> None:
    """A pattern that takes longer than the sun, and a reference to itself: both are passed on, neither is followed."""
    async with at(tmp_path) as made:
        made.play.schemas["say"] = {
            "type": "object",
            "properties": {"text": {"type": "string", "pattern": "^((((a+)+)+)+)+$"}, "self": {"$ref": "#"}},
        }
        assert await made.call() == "said hi"
