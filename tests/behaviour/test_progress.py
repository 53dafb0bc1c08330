"""Who waits for a call hears where it is, however deep: each caller of its own child."""

from collections.abc import Callable
from pathlib import Path

import anyio
from mcp_types import CallToolResult

from mcp_server.protocol.timing import Timing
from tests.behaviour.stories import TEAM, agent, bounded, calls, errand, release, says, send, state_of
from tests.behaviour.world import Connected, connect, make_world
from tests.bounds import LONG
from tests.protocol.connect import Cell, each_cell, each_near_cell

SWIFT = Timing(progress_every=0.02)
READ = ("read", {"filePath": "src/a.py"})


class Ear:
    """Takes the progress of one call."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, str]] = []
        self._wanted: Callable[[str], bool] = lambda _: False
        self._came = anyio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.heard.append((progress, message or ""))
        if self._wanted(message or ""):
            self._came.set()

    async def hears(self, words: str) -> None:
        """Wait for a message with these words."""
        self._wanted = lambda message: words in message
        if not any(words in message for _, message in self.heard):
            with anyio.fail_after(LONG):
                await self._came.wait()


async def sent(connected: Connected, name: str, ear: Ear) -> CallToolResult:
    return await bounded(connected.client.call_tool("task", errand(name, f"for {name}"), progress_callback=ear))


@each_cell
async def test_what_a_child_at_depth_two_does_reaches_the_callers_token(cell: Cell, tmp_path: Path) -> None:
    script = {
        "lead": [calls(send("writer")), says("lead: {{results[0].text}}")],
        "writer": [calls(READ), {**says("read it"), "await": "go"}],
    }
    world = make_world(tmp_path, script=script, agents=TEAM)
    ear, results = Ear(), list[CallToolResult]()
    async with connect(world, cell, timing=SWIFT) as connected:

        async def call() -> None:
            results.append(await sent(connected, "lead", ear))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await ear.hears("build › lead › writer: read src/a.py")
            release(world, "go")
    assert [state_of(result) for result in results] == ["completed"]
    numbers = [number for number, _ in ear.heard]
    assert numbers == sorted(set(numbers)), "it only grows"


@each_near_cell
async def test_two_calls_at_once_each_hear_of_their_own_child(cell: Cell, tmp_path: Path) -> None:
    script = {name: [calls(READ), {**says("read it"), "await": "go"}] for name in ("one", "two")}
    world = make_world(tmp_path, script=script, agents={name: agent() for name in script})
    ears = {name: Ear() for name in script}
    async with connect(world, cell, timing=SWIFT) as connected, anyio.create_task_group() as group:
        for name, ear in ears.items():
            group.start_soon(sent, connected, name, ear)
        for name, ear in ears.items():
            await ear.hears(f"build › {name}: read src/a.py")
        release(world, "go")
    for name, other in (("one", "two"), ("two", "one")):
        assert not any(f"› {other}" in message for _, message in ears[name].heard)
