"""What passes by itself and what does not: rulings of a caller that was silent, and what is known of runs that have ended."""

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.protocol.timing import Timing
from mcp_server.records import Choice
from mcp_server.sessions.deployment import Limits
from tests.behaviour.stories import NEAR, Settable, agent, answer_all, bounded, calls, content_of, errand, says, until, until_told
from tests.behaviour.world import Connected, connect, make_world, text_of
from tests.protocol.connect import Cell, Person, decides

SHARED = Cell(transport="http", era="2026-07-28")
"""Where a caller has one root, whatever the connection."""


def at_once(limits: Limits) -> Limits:
    """Every call finds that its caller was silent for too long."""
    return replace(limits, ruling_silence_seconds=0.0)


async def wrote(connected: Connected, path: str = "a.txt") -> str:
    return text_of(await bounded(connected.call("write", filePath=path, content="x")))


async def asked(connected: Connected) -> str:
    """The same, of a call that leaves while a person is waited for."""
    return text_of(await until_told(connected, "write", filePath="a.txt", content="x"))


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


@pytest.mark.parametrize("jump", [3_601.0, -600.0], ids=["its hour is over", "the clock was set back"])
async def test_an_allow_ends_by_itself_and_a_deny_does_not(jump: float, tmp_path: Path) -> None:
    world = make_world(tmp_path, settings={"rulings": {"allow_expiry": 3600, "session_expiry": 86400}})
    person = Person(decides("deny_session"), decides("allow_session"), decides("deny"))
    clock = Settable()
    async with connect(world, SHARED, person=person, clock=clock) as connected:
        assert (await wrote(connected, "a.txt")).startswith("denied by the person")
        assert (await wrote(connected, "b.txt")).startswith("created")
        (world.workspace / "b.txt").unlink()
        assert (await wrote(connected, "b.txt")).startswith("created")
        (world.workspace / "b.txt").unlink()
        clock.ahead = jump
        assert (await wrote(connected, "b.txt")).startswith("denied by the person")
        assert (await wrote(connected, "a.txt")).startswith("denied by rule: ")
        again = [stored.event.outcome for stored in await connected.store.audit_log() if stored.event.outcome.startswith("asks again")]
        (over,) = [r.id for r in await connected.store.rulings(principal=LOCAL.key) if r.expires_at is not None]
        assert again == [f"asks again: {over} is over"]
        assert "An allow for longer than this call ends with the session, or 1 h after it was given." in person.forms[-1].message


async def test_nothing_is_kept_in_memory_of_a_run_that_has_ended(tmp_path: Path) -> None:
    script = {"worker": [calls(("read", {"filePath": "README.md"})), says("done")]}
    world = make_world(tmp_path, script=script, agents={"worker": agent()})
    async with connect(world, NEAR) as connected:
        result = await bounded(connected.call("task", **errand("worker")))
        session = await connected.store.session(SessionId(content_of(result)["task_id"]), LOCAL.key)
        assert session is not None
        assert connected.parts is not None
        assert connected.parts.supervisor.activity(session) == session.title


async def test_a_call_that_nobody_came_back_to_is_forgotten_once_its_wait_is_over(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    async with connect(
        world, NEAR, timing=Timing(patience=0.1), limits=lambda limits: replace(limits, root_silence_seconds=0.0)
    ) as connected:
        assert "waits for a person" in await asked(connected)
        first = await connected.open_prompts()
        assert "waits for a person" in await asked(connected), "as long as it waits the same call is found again"
        assert await connected.open_prompts() == first
        await answer_all(connected.store, first, Choice.DENY)
        await until(lambda: no_open_prompt(connected))
        assert "waits for a person" in await asked(connected)
        (second,) = await connected.open_prompts()
    assert second.id != first[0].id


async def no_open_prompt(connected: Connected) -> bool:
    """Does the server know by now that it was answered elsewhere?"""
    assert connected.parts is not None
    return not connected.parts.supervisor.prompting.open_ones
