"""What has ended and is old is removed, and nothing else."""

import time
from pathlib import Path

from mcp_server.principal import LOCAL
from mcp_server.sessions.retention import DAY, Keeping, prune
from mcp_server.store.protocol import Store
from tests.behaviour.stories import NEAR, bounded, content_of, errand, release, says, state_of, team_world, until, until_ended
from tests.behaviour.test_lives import Settable
from tests.behaviour.world import Connected, World, connect, make_world, text_of

LONG_AGO = -100 * DAY

HELD = [{"text": "done", "await": "ready"}]


async def ids(store: Store) -> set[str]:
    return {session.agent for session in await store.sessions(LOCAL.key)}


async def old_world(folder: Path, **settings: object) -> World:
    """In its store is one tree of long ago: a root that nobody ended, and its child that is done."""
    world = make_world(folder, script={"general": [says("word " * 40_000)]}, settings=settings)
    async with connect(world, NEAR, clock=Settable(LONG_AGO)) as connected:
        await bounded(connected.call("task", **errand("general")))
    return world


async def gone(connected: Connected) -> bool:
    return "general" not in await ids(connected.store)


async def emptied(world: World) -> bool:
    return not list((world.places.cache / "outputs").glob("*/*"))


async def test_at_its_start_a_server_removes_what_is_older_than_settings_keep_it_but_not_its_audit(tmp_path: Path) -> None:
    world = await old_world(tmp_path)
    store = world.store()
    before = await store.audit_log()
    await store.close()
    saved = list((world.places.cache / "outputs").glob("*/*"))
    async with connect(world, NEAR) as connected:
        await until(lambda: gone(connected))
        await until(lambda: emptied(world))  # which is done once the store has forgotten them
        after = await connected.store.audit_log()
    assert saved != []
    assert after[: len(before)] == before


async def test_settings_can_keep_everything(tmp_path: Path) -> None:
    world = await old_world(tmp_path, retention={"days": 0})
    async with connect(world, NEAR) as connected:
        assert connected.parts is not None
        await connected.parts.tidy()
        assert "general" in await ids(connected.store)


async def test_a_tree_in_which_a_run_goes_on_stays_whole_however_old(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": HELD})
    async with connect(world, NEAR, clock=Settable(LONG_AGO)) as first:
        started = await bounded(first.call("task", **errand("general", background=True)))
    async with connect(world, NEAR) as second:
        assert second.parts is not None
        await second.parts.tidy()
        release(world, "ready")
        result = await bounded(until_ended(second, content_of(started)["task_id"]))
    assert state_of(result) == "completed"


async def test_a_tree_that_waits_for_a_person_stays_however_old(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    clock = Settable(-3 * DAY)
    async with connect(world, NEAR, clock=clock) as connected:
        await bounded(connected.call("task", **errand("lead", background=True)))
        await connected.open_prompts()
        await prune(connected.store, tmp_path, Keeping(days=1, megabytes=0), now=time.time())
        assert {"lead", "writer"} <= await ids(connected.store)


async def test_where_the_store_is_too_large_what_was_silent_longest_goes_first(tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [says("x" * 370_000)]}, settings={"retention": {"days": 0}})
    titles: list[set[str]] = []
    for days in (30.0, 20.0, 10.0):
        async with connect(world, NEAR, clock=Settable(-days * DAY)) as connected:
            await bounded(connected.call("task", **{**errand("general"), "description": f"{days:g} days ago"}))
    store = world.store()
    for megabytes in (1000, 2, 1):
        await prune(store, tmp_path, Keeping(days=0, megabytes=megabytes), now=time.time())
        titles.append({session.title.removesuffix(" (@general subagent)") for session in await store.sessions(LOCAL.key) if session.depth})
    await store.close()
    assert titles == [{"30 days ago", "20 days ago", "10 days ago"}, {"20 days ago", "10 days ago"}, {"10 days ago"}]


async def test_a_client_whose_session_was_removed_under_it_is_told_so_and_may_do_nothing(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    async with connect(world, NEAR) as connected:
        await bounded(connected.call("read", filePath="src/a.py"))
        (root,) = await connected.store.sessions(LOCAL.key)
        assert await connected.store.forget_tree(root.id) == (root.id,)
        result = await bounded(connected.call("read", filePath="src/a.py"))
    assert result.is_error
    assert "could not store what it must" in text_of(result)
