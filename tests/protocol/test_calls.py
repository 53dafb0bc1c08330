"""Results, refusals and faults of `tools/call`, as the real client reads them in every cell."""

import anyio
import pytest
from mcp_types import ImageContent

from tests.bounds import LONG
from tests.protocol.cells import playing
from tests.protocol.connect import Cell, each_cell, each_near_cell, text_of
from tests.protocol.scripts import PIXEL


@each_cell
async def test_a_call_that_is_done_gives_its_text(cell: Cell) -> None:
    async with playing(cell) as client:
        with anyio.fail_after(LONG):
            result = await client.call_tool("read", {"filePath": "a.txt"})
            refused = await client.call_tool("edit", {"filePath": "a.txt"})
            tools = (await client.list_tools()).tools
    assert (text_of(result.content), result.is_error) == ("the text of a.txt", False)
    assert (text_of(refused.content), refused.is_error) == ("denied: edit a.txt matches `edit *` deny of agent plan", True)
    assert [tool.name for tool in tools] == ["read", "edit", "bash", "close_prompts", "task", "task_status"]


@each_near_cell
async def test_an_image_comes_as_an_image(cell: Cell) -> None:
    async with playing(cell) as client:
        with anyio.fail_after(LONG):
            result = await client.call_tool("read", {"filePath": "a.png"})
    assert result.content == [ImageContent(type="image", data=PIXEL, mime_type="image/png")]


@each_near_cell
@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("raed", {}, "there is no tool 'raed'; the tools are read, edit, bash, close_prompts, task, task_status"),
        ("read", {}, "the arguments do not fit `read`:\n- filePath: Field required"),
        ("read", {"filePath": 7, "secret": "s3cret"}, None),
    ],
    ids=["unknown tool", "missing argument", "wrong types"],
)
async def test_a_call_that_makes_no_sense_is_told_so_without_its_values(
    cell: Cell, tool: str, arguments: dict[str, object], text: str | None
) -> None:
    async with playing(cell) as client:
        with anyio.fail_after(LONG):
            result = await client.call_tool(tool, arguments)
    assert result.is_error
    told = text_of(result.content)
    assert "s3cret" not in told
    assert text is None or told == text
    assert text is not None or told.splitlines()[1:] == [
        "- filePath: Input should be a valid string",
        "- secret: Extra inputs are not permitted",
    ]


@each_near_cell
async def test_a_failed_call_keeps_its_structure_and_is_an_error(cell: Cell) -> None:
    async with playing(cell) as client:
        with anyio.fail_after(LONG):
            result = await client.call_tool("task", {"scene": "crash"})
    assert (text_of(result.content), result.is_error) == ("the provider failed", True)
    assert result.structured_content == {"id": "call_1", "state": "error", "refused": []}


@each_near_cell
async def test_a_structure_that_misses_its_own_schema_loses_no_text_and_is_no_success(cell: Cell) -> None:
    async with playing(cell) as client:
        with anyio.fail_after(LONG):
            result = await client.call_tool("task", {"scene": "misfit"})
    assert (text_of(result.content), result.is_error, result.structured_content) == ("done", True, None)


@each_near_cell
async def test_a_long_call_answers_running_and_the_same_call_again_continues_it(cell: Cell) -> None:
    async with playing(cell, patience=0.0) as client:
        with anyio.fail_after(LONG):
            first = await client.call_tool("task", {"scene": "never"})
            second = await client.call_tool("task", {"scene": "never"})
    assert not first.is_error
    assert first.structured_content == second.structured_content == {"id": "call_1", "state": "waiting", "refused": []}


@each_near_cell
async def test_progress_with_a_message_is_sent_to_who_asked_for_it(cell: Cell) -> None:
    heard: list[tuple[float, str | None]] = []
    enough = anyio.Event()

    async def listens(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) == 2:
            enough.set()

    async with playing(cell, progress_every=0.01) as client:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    await client.call_tool("task", {"scene": "never"}, progress_callback=listens)

                group.start_soon(call)
                await enough.wait()
                group.cancel_scope.cancel()
    assert heard[:2] == [(1, "task goes on"), (2, "task goes on")]
