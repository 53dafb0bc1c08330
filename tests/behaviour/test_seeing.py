"""A person at another terminal sees a running tree and ends it, through the store alone."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from click.testing import CliRunner

from mcp_server.cli import cancel
from mcp_server.cli.main import remit
from mcp_server.principal import LOCAL
from mcp_server.records import PromptState, RunState
from tests.behaviour.stories import NEAR, at_rest, bounded, content_of, errand, state_of, team_world, until_ended
from tests.behaviour.world import World, connect
from tests.bounds import LONG


def at_a_terminal(world: World) -> Mapping[str, str]:
    return {"REMIT_CONFIG_DIR": str(world.places.config), "REMIT_STATE_DIR": str(world.places.state), "COLUMNS": "300"}


async def remits(world: World, *words: str) -> str:
    """What a command says, run beside the server."""
    ended = await anyio.to_thread.run_sync(lambda: CliRunner(env=dict(at_a_terminal(world))).invoke(remit, words))
    assert ended.exit_code == 0, ended.output
    return ended.output


async def test_a_running_tree_is_seen_with_what_it_waits_for_and_ended_from_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancel, "WAIT", LONG)
    world = team_world(tmp_path)
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        (prompt,) = await connected.open_prompts()
        await at_rest(connected, content_of(started)["task_id"])
        head, build, lead, writer = (await remits(world, "sessions")).splitlines()
        assert head.startswith("SESSION")
        assert build.startswith("build")
        assert "waits for 1 child" in lead
        assert f"remit approvals approve {prompt.id[:12]}" in writer
        shown = await remits(world, "sessions", "show", prompt.session_id)
        assert f"waits for an answer: remit approvals approve {prompt.id}" in shown
        told = await remits(world, "cancel", content_of(started)["task_id"])
        assert told.splitlines() == [f"build › lead {content_of(started)['task_id'][:12]}: 2 runs asked to end, 2 ended so far"]
        ended = await bounded(until_ended(connected, content_of(started)["task_id"]))
        assert [one.state for one in await connected.store.prompts()] == [PromptState.WITHDRAWN]
    assert state_of(ended) == "cancelled"
    assert content_of(ended)["error"] == "cancelled by the person, with `remit cancel`"


async def test_a_tree_that_is_ended_while_no_server_runs_ends_with_the_next(tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with connect(world, NEAR) as connected:
        started = await bounded(connected.call("task", **errand("lead", background=True)))
        await connected.open_prompts()
    told = await remits(world, "cancel", content_of(started)["task_id"])
    assert f"they end as soon as one runs for {world.workspace}" in told
    async with connect(world, NEAR) as connected:
        ended = await bounded(until_ended(connected, content_of(started)["task_id"]))
        runs = [await connected.store.latest_run(session.id) for session in await connected.store.sessions(LOCAL.key)]
        assert {run.state for run in runs if run is not None} == {RunState.CANCELLED}
    assert state_of(ended) == "cancelled"
