"""A client that listens is told how its tasks stand."""

from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

from tests.behaviour.stories import errand, team_world, until
from tests.behaviour.world import connect
from tests.bounds import LONG
from tests.protocol.connect import TRANSPORTS, Cell, Person, stares
from tests.protocol.task_client import KnowsTasks, TaskUser, accepts

each_new_cell = pytest.mark.parametrize("cell", [Cell(transport=transport, era="2026-07-28") for transport in TRANSPORTS], ids=str)
UNKNOWN = "call_" + "a" * 32


@each_new_cell
async def test_a_listener_is_told_each_state_whole_and_needs_no_poll(cell: Cell, tmp_path: Path) -> None:
    knows = KnowsTasks()
    with anyio.fail_after(2 * LONG):
        async with connect(team_world(tmp_path), cell, person=Person(stares), extensions=[knows]) as connected:
            user = TaskUser(client=connected.client)
            task_id = await user.task("task", **errand("writer"))

            async def told(status: str) -> bool:
                return any(one.status == status for one in knows.told)

            async with anyio.create_task_group() as group:
                group.start_soon(user.listen, task_id, UNKNOWN)
                await until(lambda: told("input_required"))
                asked = next(one for one in knows.told if one.status == "input_required").model_dump(by_alias=True)
                await user.update(task_id, {key: accepts() for key in asked["inputRequests"]})
                await until(lambda: told("completed"))
                group.cancel_scope.cancel()
            last = knows.told[-1].model_dump(by_alias=True, exclude_unset=True, exclude={"meta"})
            assert {"resultType": "complete", **last} == await user.get(task_id)
    assert {one.task_id for one in knows.told} == {task_id}


async def test_a_client_that_declares_no_tasks_may_not_listen_to_any(tmp_path: Path) -> None:
    async with connect(team_world(tmp_path), Cell(transport="memory", era="2026-07-28")) as connected:
        with anyio.fail_after(LONG), pytest.raises(MCPError) as refused:
            await TaskUser(client=connected.client).listen(UNKNOWN)
    assert refused.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
