"""Who meets the extension, and who does not: declared or not, in either era, with whose handle."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY, Request

from mcp_server.policy.values import CallId
from mcp_server.principal import TokenPrincipal
from mcp_server.protocol.server import build_server
from mcp_server.protocol.tasks import Tasks
from mcp_server.protocol.tasks_wire import IDENTIFIER, status_of
from mcp_server.protocol.timing import Timing
from mcp_server.records import CallEnded, Ending
from mcp_server.sessions.front import Caller
from mcp_server.sessions.promised import Promised
from tests.behaviour.stories import content_of, errand, team_world
from tests.behaviour.world import Connected, World, connect
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, client_of, decides, each_cell, served_http, stares
from tests.protocol.task_client import Anything, Cancel, Created, Get, KnowsTasks, TaskParams, TaskUser, Update, UpdateParams, asked

NEW = Cell(transport="memory", era="2026-07-28")
OLD = Cell(transport="memory", era="2025-11-25")
HTTP = Cell(transport="http", era="2026-07-28")

UNKNOWN = "call_" + "a" * 32


@asynccontextmanager
async def using(world: World, cell: Cell = NEW) -> AsyncGenerator[tuple[TaskUser, Connected]]:
    with anyio.fail_after(2 * LONG):
        async with connect(world, cell, person=Person(stares), extensions=[KnowsTasks()]) as connected:
            yield TaskUser(client=connected.client), connected


async def refusal(client: Client, request: Request[Any, Any]) -> tuple[int, str]:
    with pytest.raises(MCPError) as refused:
        await client.session.send_request(request, Anything)
    return refused.value.code, refused.value.message


def every_request(task_id: str) -> tuple[Request[Any, Any], ...]:
    params = TaskParams(task_id=task_id)
    return (Get(params=params), Update(params=UpdateParams(task_id=task_id, input_responses={})), Cancel(params=params))


async def test_ids_that_are_unknown_foreign_or_malformed_have_one_answer(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        child = (await user.get(task_id))["statusMessage"].rpartition(" ")[2].rstrip(")")
        said = {
            await refusal(connected.client, request)
            for wrong in (UNKNOWN, "", "7", "'; --", "x" * 10_000, task_id.upper(), f"{task_id} ", child)
            for request in every_request(wrong)
        }
        assert said == {(INVALID_PARAMS, "no task with that id is yours; call session_info to see what is, or start a new one")}
        assert (await user.get(task_id))["status"] in ("working", "input_required")


async def test_to_another_principal_there_is_no_such_task(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        keys = asked(await user.until(task_id, "input_required"))
        parts = connected.parts
        assert parts is not None
        stranger = TokenPrincipal(issuer="https://issuer.example", subject="somebody else", client="another")
        caller = Caller(principal=stranger, workspace=str(parts.deployment.workspaces[0]), agent="build")
        tasks = Tasks(parts.desk, parts.promised, caller_of=lambda _: caller, timing=Timing())
        server = build_server(parts.desk, tasks=tasks, caller_of=lambda _: caller, keys=[b"k" * 32], version="0")
        async with client_of(server, "2026-07-28", None, extensions=[KnowsTasks()]) as other:
            unknown = await refusal(other, Get(params=TaskParams(task_id=UNKNOWN)))
            assert {await refusal(other, request) for request in every_request(task_id)} == {unknown}
        assert asked(await user.get(task_id)) == keys


@each_cell
async def test_a_client_that_declares_nothing_sees_what_it_saw_before(cell: Cell, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    with anyio.fail_after(2 * LONG):
        async with connect(world, cell, person=Person(decides("allow_once"))) as connected:
            result = await connected.call("task", **errand("writer"))
            while content_of(result)["state"] in ("running", "waiting"):
                result = await connected.call("task_status", task_id=content_of(result)["task_id"], wait_seconds=15)
            assert content_of(result)["state"] == "completed"
            assert await connected.store.promised_open() == ()
            code = METHOD_NOT_FOUND if cell.era == "2025-11-25" else MISSING_REQUIRED_CLIENT_CAPABILITY
            for request in every_request(UNKNOWN):
                assert (await refusal(connected.client, request))[0] == code


async def test_up_to_2025_11_25_nobody_meets_the_extension_whatever_is_declared(tmp_path: Path) -> None:
    async with using(team_world(tmp_path), OLD) as (user, connected):
        result = await user.call("task", **errand("writer", background=True))
        assert not isinstance(result, Created)
        assert content_of(result)["state"] == "running"
        assert (await refusal(connected.client, Get(params=TaskParams(task_id=UNKNOWN))))[0] == METHOD_NOT_FOUND
        capabilities = connected.client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
        assert IDENTIFIER not in capabilities.get("extensions", {})


async def test_the_server_says_that_it_knows_tasks_and_nothing_else_of_them(tmp_path: Path) -> None:
    async with using(team_world(tmp_path)) as (_, connected):
        assert connected.client.server_capabilities.extensions == {IDENTIFIER: {}, "io.modelcontextprotocol/ui": {}}
        for method in ("tasks/list", "tasks/result"):
            code, _ = await refusal(connected.client, Request[TaskParams, str](method=method, params=TaskParams(task_id=UNKNOWN)))
            assert code == METHOD_NOT_FOUND


async def test_over_http_a_header_that_names_another_task_is_refused(tmp_path: Path) -> None:
    class Elsewhere(TaskParams):
        elsewhere: str

    class Misrouted(Request[Elsewhere, Literal["tasks/get"]]):
        method: Literal["tasks/get"] = "tasks/get"
        name_param = "elsewhere"

    async with using(team_world(tmp_path), HTTP) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        request = Misrouted(params=Elsewhere(task_id=task_id, elsewhere=UNKNOWN))
        assert (await refusal(connected.client, request))[0] == HEADER_MISMATCH


async def test_a_request_without_the_header_is_refused_over_http_alone(tmp_path: Path) -> None:
    class Bare(Get):
        name_param = None

    world = team_world(tmp_path)
    async with using(world) as (user, connected):
        task_id = await user.task("task", **errand("writer"))
        await connected.client.session.send_request(Bare(params=TaskParams(task_id=task_id)), Anything)
        assert connected.parts is not None
        async with served_http(connected.parts.server) as url, client_of(url, "2026-07-28", None, extensions=[KnowsTasks()]) as other:
            assert (await refusal(other, Bare(params=TaskParams(task_id=task_id))))[0] == HEADER_MISMATCH
            assert (await TaskUser(client=other).get(task_id))["taskId"] == task_id


@pytest.mark.parametrize(
    ("ending", "status"),
    [(ending, "cancelled" if ending is Ending.CANCELLED else "completed") for ending in Ending],
    ids=lambda value: str(value),
)
def test_failed_is_kept_for_the_servers_own_failures(ending: Ending, status: str) -> None:
    ended = CallEnded(call_id=CallId("call"), tool="task", ending=ending, parts=())
    fields: dict[str, Any] = {
        "call_id": CallId("call"),
        "tool": "task",
        "created_at": 0.0,
        "changed_at": 0.0,
        "kept_until": None,
        "words": "",
    }
    assert status_of(Promised(**fields, ended=ended), asks=True) == status
    assert status_of(Promised(**fields, fault="the disk"), asks=True) == "failed"
    assert status_of(Promised(**fields), asks=True) == "working"
