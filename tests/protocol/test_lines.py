"""Which root a request works in, and what the end of a connection leaves behind."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from mcp.server.lowlevel.server import Server

from mcp_server.protocol.lines import Line
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, client_of, decides, each_near_cell, served_http, stares
from tests.protocol.scripted_front import ScriptedFront, scripted_front
from tests.protocol.scripted_server import scripted_server
from tests.protocol.scripts import tools


@asynccontextmanager
async def target_of(cell: Cell, front: ScriptedFront) -> AsyncGenerator[Server[Line] | str]:
    """Something that several clients can connect to."""
    server = scripted_server(front)
    if cell.transport == "memory":
        yield server
        return
    async with served_http(server) as url:
        yield url


@each_near_cell
async def test_each_connection_has_its_root_but_from_2026_on_over_http(cell: Cell) -> None:
    async with scripted_front(tools()) as front, target_of(cell, front) as target:
        with anyio.fail_after(LONG):
            for _ in range(2):
                async with client_of(target, cell.era, None) as client:
                    await client.list_tools()
                    await client.call_tool("read", {"filePath": "a"})
                    await client.call_tool("read", {"filePath": "b"})
            shared = cell == Cell(transport="http", era="2026-07-28")
            assert list(front.roots) == (["ses_shared"] if shared else ["ses_1", "ses_2"])
            if not shared:
                await front.until(lambda front: len(front.left) == 2)
                assert front.left == ["ses_1", "ses_2"]
    assert not shared or front.left == []


@each_near_cell
async def test_a_connection_that_only_lists_opens_no_root(cell: Cell) -> None:
    async with scripted_front(tools()) as front, target_of(cell, front) as target:
        with anyio.fail_after(LONG):
            async with client_of(target, cell.era, None) as client:
                await client.list_tools()
    assert front.roots == {}


@each_near_cell
async def test_a_client_that_dies_in_mid_prompt_leaves_the_prompt_for_the_next(cell: Cell) -> None:
    async with scripted_front(tools()) as front, target_of(cell, front) as target:
        with anyio.fail_after(LONG):
            person = Person(stares)
            async with anyio.create_task_group() as group:

                async def dies() -> None:
                    async with client_of(target, cell.era, person) as client:
                        await client.call_tool("task", {"scene": "ask"})

                group.start_soon(dies)
                await person.sees_a_form()
                group.cancel_scope.cancel()
            await front.until(lambda front: front.calls_attached() == 0)
            assert len(front.prompts) == 1
            async with client_of(target, cell.era, Person(decides("allow_once"))) as client:
                result = await client.call_tool("task", {"scene": "ask"})
    assert (result.structured_content or {})["state"] == "completed"
    assert len(front.calls) == 1


@each_near_cell
async def test_a_cancelled_request_detaches_and_its_call_goes_on(cell: Cell) -> None:
    async with scripted_front(tools()) as front, target_of(cell, front) as target:
        with anyio.fail_after(LONG):
            async with client_of(target, cell.era, None) as client:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "task", {"scene": "never"})
                    await front.until(lambda front: len(front.calls) == 1)
                    group.cancel_scope.cancel()
                await front.until(lambda front: front.calls_attached() == 0)
                assert all(call.result is None for call in front.calls.values())
