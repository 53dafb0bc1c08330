"""What passes by itself and what does not: rulings of a caller that was silent, and what is known of runs that have ended."""

from dataclasses import replace
from pathlib import Path

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.sessions.deployment import Limits
from tests.behaviour.stories import NEAR, agent, bounded, calls, content_of, errand, says
from tests.behaviour.world import Connected, connect, make_world, text_of
from tests.protocol.connect import Cell, Person, decides

SHARED = Cell(transport="http", era="2026-07-28")
"""Where a caller has one root, whatever the connection."""


def at_once(limits: Limits) -> Limits:
    """Every call finds that its caller was silent for too long."""
    return replace(limits, ruling_silence_seconds=0.0)


async def wrote(connected: Connected, path: str = "a.txt") -> str:
    return text_of(await bounded(connected.call("write", filePath=path, content="x")))


async def test_silence_ends_what_a_person_allowed_and_never_what_a_person_denied(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    person = Person(decides("deny_session"), decides("allow_session"), decides("deny"))
    async with connect(world, SHARED, person=person, limits=at_once) as connected:
        assert (await wrote(connected, "a.txt")).startswith("denied by the person")
        assert (await wrote(connected, "a.txt")).startswith("denied by rule: ")
        assert (await wrote(connected, "b.txt")).startswith("created")
        (world.workspace / "b.txt").unlink()
        assert (await wrote(connected, "b.txt")).startswith("denied by the person")
        assert (await wrote(connected, "a.txt")).startswith("denied by rule: ")


async def test_nothing_is_kept_in_memory_of_a_run_that_has_ended(tmp_path: Path) -> None:
    script = {"worker": [calls(("read", {"filePath": "README.md"})), says("done")]}
    world = make_world(tmp_path, script=script, agents={"worker": agent()})
    async with connect(world, NEAR) as connected:
        result = await bounded(connected.call("task", **errand("worker")))
        session = await connected.store.session(SessionId(content_of(result)["task_id"]), LOCAL.key)
        assert session is not None
        assert connected.parts is not None
        assert connected.parts.supervisor.activity(session) == session.title
