"""A turn of the client's own model that does not come, or not as it ought to; and who asks for it after a cancel, a restart, elsewhere."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import MCPError
from mcp_types import (
    CreateMessageRequestParams,
    ErrorData,
    ImageContent,
)

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import FINAL
from tests.behaviour.lending import MODERN, OwnModel, Reply, always, content, lent, own_world, read, turn, waits
from tests.behaviour.stories import (
    NEAR,
    bounded,
    content_of,
    each_era,
    errand,
    state_of,
    until,
    until_ended,
)
from tests.behaviour.world import LOOK, Connected
from tests.bounds import LONG
from tests.protocol.connect import Cell, each_near_cell

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
BAD: tuple[tuple[str, Reply, str], ...] = (
    ("role", turn("Mine.").model_copy(update={"role": "user"}), "the client's answer is not its model's: it has the role `user`"),
    ("image", turn().model_copy(update={"content": [IMAGE]}), "the client's answer holds what no model's turn may: image"),
    ("empty", turn(), "the client's answer is empty"),
    ("no tool", turn("wait", stop="toolUse"), "the client's answer says that its model wants a tool, and names none"),
    ("refusal", turn("no", stop="refusal"), "the client's own model refused to answer"),
)


@pytest.mark.parametrize(("reply", "words"), [pytest.param(reply, words, id=name) for name, reply, words in BAD])
@each_era
async def test_an_answer_that_is_no_turn_fails_the_run_in_words(cell: Cell, reply: Reply, words: str, tmp_path: Path) -> None:
    async with lent(own_world(tmp_path), cell, OwnModel(always(reply))) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert (state_of(result), content_of(result)["error"]) == ("error", words)


async def test_a_client_that_refuses_fails_the_run_in_its_own_words(tmp_path: Path) -> None:
    model = OwnModel(always(ErrorData(code=-1, message="The person said no")))
    async with lent(own_world(tmp_path), NEAR, model) as connected:
        result = await bounded(connected.call("task", **errand("reader")))
    assert (state_of(result), len(model.asked)) == ("error", 1)
    assert content_of(result)["error"] == "the client did not ask its model: The person said no"


async def test_a_client_that_refuses_where_it_cannot_be_heard_is_asked_three_times_and_no_more(tmp_path: Path) -> None:
    model, world = OwnModel(always(ErrorData(code=-1, message="The person said no"))), own_world(tmp_path)
    async with lent(world, MODERN) as connected:  # a client that lends one may be asked by the very call that starts the run
        started = content_of(await bounded(connected.call("task", **errand("reader", background=True))))
    async with lent(world, MODERN, model) as connected:
        for _ in range(3):
            with pytest.raises(MCPError, match="The person said no"):
                await bounded(connected.call("task_status", task_id=started["task_id"], wait_seconds=10))
        result = await bounded(connected.call("task_status", task_id=started["task_id"], wait_seconds=10))
    assert (state_of(result), len(model.asked)) == ("error", 3)
    assert content_of(result)["error"] == "the client was asked 3 times for one turn of its own model, and gave no answer"


async def test_a_turn_that_no_client_gives_in_time_ends_the_run(tmp_path: Path) -> None:
    async with lent(own_world(tmp_path), NEAR, limits=lambda limits: replace(limits, unasked_seconds=0.3)) as connected:
        started = content_of(await bounded(connected.call("task", **errand("reader", background=True))))
        await until(lambda: ended(connected, started["task_id"]))
        result = await bounded(connected.call("task_status", task_id=started["task_id"]))
    assert state_of(result) == "error"
    assert "the client's own model did not answer within 0.3 s" in content_of(result)["error"]


async def ended(connected: Connected, task_id: str) -> bool:
    run = await connected.store.latest_run(SessionId(task_id))
    return run is not None and run.state in FINAL


@each_near_cell
async def test_a_cancelled_run_takes_its_question_back(cell: Cell, tmp_path: Path) -> None:
    async def never(_: CreateMessageRequestParams) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    model = OwnModel(never)
    async with lent(own_world(tmp_path), cell, model) as connected:
        async with anyio.create_task_group() as group:
            # On a busy machine the question may already ride on this call, which then stays until it is taken back.
            group.start_soon(lambda: connected.call("task", **errand("reader", background=True)))
            with anyio.fail_after(LONG):
                task_id = await _child(connected)
            group.start_soon(lambda: connected.call("task_status", task_id=task_id, wait_seconds=15))
            with anyio.fail_after(LONG):
                await model.is_asked()
            assert state_of(await bounded(connected.call("task_cancel", task_id=task_id))) == "cancelled"
            if cell.era == "2025-11-25":
                await until(lambda: _taken_back(model))
            group.cancel_scope.cancel()
        await until(lambda: _asks_nothing(connected))


async def _child(connected: Connected) -> str:
    while True:
        for session in await connected.store.sessions(LOCAL.key):
            if session.agent == "reader":
                return session.id
        await anyio.sleep(LOOK)


async def _taken_back(model: OwnModel) -> bool:
    """Every question that was put: where it first rode on one call and then on another, that is two."""
    return model.withdrawn == len(model.asked)


@each_near_cell
async def test_a_request_that_is_given_up_leaves_its_turn_to_the_next(cell: Cell, tmp_path: Path) -> None:
    async def never(_: CreateMessageRequestParams) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    model = OwnModel(never)
    async with lent(own_world(tmp_path), cell, model) as connected:
        task_id = ""
        async with anyio.create_task_group() as group:
            # As above: the question may ride on either.
            group.start_soon(lambda: connected.call("task", **errand("reader", background=True)))
            with anyio.fail_after(LONG):
                task_id = await _child(connected)
            group.start_soon(lambda: connected.call("task_status", task_id=task_id, wait_seconds=15))
            with anyio.fail_after(LONG):
                await model.is_asked()
            group.cancel_scope.cancel()
        model.speak = always(turn("At the second time."))
        result = await bounded(until_ended(connected, task_id))
    assert (state_of(result), content_of(result)["result"]) == ("completed", "At the second time.")


@each_era
async def test_after_a_restart_the_same_turn_is_asked_for_again(cell: Cell, tmp_path: Path) -> None:
    world = own_world(tmp_path)
    async with lent(world, cell) as before:
        started = content_of(await bounded(before.call("task", **errand("reader", "do it", background=True))))
        await until(lambda: waits(before, started["task_id"]))
    model = OwnModel(always(turn("After the restart.")))
    async with lent(world, cell, model) as again:
        result = await bounded(until_ended(again, started["task_id"]))
    assert content_of(result)["result"] == "After the restart."
    assert [content(message)[0].text for message in model.asked[0].messages] == ["do it"]


LEASE = 4.0
"""Seconds: how soon one server takes up what another asks hangs on it, and a busy machine must not hold one up for longer."""


async def test_another_server_for_the_workspace_carries_the_turns_just_as_well(tmp_path: Path) -> None:
    world, other = own_world(tmp_path), OwnModel(read(3))
    async with (
        lent(world, NEAR, limits=lambda limits: replace(limits, lease_seconds=LEASE)) as begun,
        lent(world, MODERN, other, limits=lambda limits: replace(limits, lease_seconds=LEASE)) as elsewhere,
    ):
        started = content_of(await bounded(begun.call("task", **errand("reader", background=True))))
        await until(lambda: _asks(elsewhere))
        result = await bounded(until_ended(elsewhere, started["task_id"]))
        await until(lambda: _asks_nothing(begun))
    assert (state_of(result), content_of(result)["usage"]["turns"]) == ("completed", 4)
    assert len(other.asked) == 4


async def _asks(connected: Connected) -> bool:
    assert connected.parts is not None
    return bool(connected.parts.deployment.asks.asks)


async def _asks_nothing(connected: Connected) -> bool:
    return not await _asks(connected)
