"""Children: what it takes to start one, and what a thousand of them weigh while they wait for a person, each with its call attached."""

import gc
import time
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from benchmarks.ground import at_work, ground
from benchmarks.measuring import Figure, Spread, spread, words
from mcp_server.app import Running
from mcp_server.principal import LOCAL
from mcp_server.records import PromptId, SessionRecord
from mcp_server.sessions.deployment import Limits
from mcp_server.sessions.front import Caller, Ended

WORKER = """---
description: Does what it is told.
mode: subagent
---
You work.
"""

SPAWN = 5e-3
"""Seconds."""

WAITING = 20.0
"""KiB each."""

CHILDREN, AT_ONCE = 1000, 50

SPAWNED = 60

TITLES = [{"text": "An errand"}]
DONE: Mapping[str, Any] = {"worker": [{"text": "It is done."}], "title": TITLES}
ASKS: Mapping[str, Any] = {
    "worker": [{"calls": [{"tool": "bash", "arguments": {"command": "make"}}]}, {"text": "It is done."}],
    "title": TITLES,
}


def wide(limits: Limits) -> Limits:
    """Room for all of them."""
    return replace(limits, children=CHILDREN + 10)


def figures() -> list[Figure]:
    """Starting one, and a thousand waiting."""
    wall, cpu = anyio.run(_spawns)
    traced = anyio.run(_waiting)
    return [
        Figure(
            name="spawning a child",
            measured=f"{words(cpu.p50)} of CPU (least {words(cpu.least)}), {words(wall.p50)} by the clock (least {words(wall.least)})",
            target="at most 5 ms",
            met=cpu.p50 <= SPAWN,
            how="a `task` call from its beginning to the child's end: derived, stored, one turn of a scripted model, told; audit on",
        ),
        Figure(
            name=f"{CHILDREN:,} children that wait",
            measured=f"{traced:.1f} KiB each",
            target="at most 20 KiB each",
            met=traced <= WAITING,
            how="each child's call waits for a person, and a request is attached to its `task` call; what Python allocated, by tracemalloc",
        ),
    ]


async def _spawns() -> tuple[Spread, Spread]:
    wall: list[float] = []
    cpu: list[float] = []
    with ground(script=DONE, agents={"worker": WORKER}) as made:
        async with at_work(made, wide) as remit:
            root = await _root(remit, str(made.workspace))
            for number in range(SPAWNED + 5):
                begun, spent = time.perf_counter(), time.process_time()
                await _ended(remit, root, number)
                if number >= 5:
                    wall.append(time.perf_counter() - begun)
                    cpu.append(time.process_time() - spent)
    return spread(wall), spread(cpu)


async def _root(remit: Running, workspace: str) -> SessionRecord:
    return await remit.desk.open_root(Caller(principal=LOCAL, workspace=workspace, agent="build"), shared=False)


def _errand(number: int) -> dict[str, Any]:
    return {"description": f"errand {number}", "prompt": "Do it.", "subagent_type": "worker"}


async def _ended(remit: Running, root: SessionRecord, number: int) -> None:
    call_id = await remit.desk.begin(root, "task", _errand(number))
    settled = await remit.desk.settle(root, call_id, seconds=30)
    await remit.desk.detach(call_id)
    if not isinstance(settled, Ended) or "It is done." not in str(settled.result.parts):
        raise AssertionError(f"the child did not end well: {settled}")


async def _waiting() -> float:
    """KiB a child."""
    weight = 0.0
    with ground(script=ASKS, agents={"worker": WORKER}) as made:
        async with at_work(made, wide) as remit, anyio.create_task_group() as group:
            root = await _root(remit, str(made.workspace))
            await _joined(remit, root, group, range(1))  # what only the first one brings is not counted
            tracemalloc.start()
            before = _now()
            for first in range(1, CHILDREN + 1, AT_ONCE):
                await _joined(remit, root, group, range(first, first + AT_ONCE))
            weight = (_now() - before) / CHILDREN / 1024
            group.cancel_scope.cancel()
    tracemalloc.stop()
    return weight


def _now() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def _joined(remit: Running, root: SessionRecord, group: TaskGroup, numbers: range) -> None:
    """So many more wait."""
    for number in numbers:
        group.start_soon(_attached, remit, root, number)
    with anyio.fail_after(300):
        while len(remit.supervisor.prompting.open_ones) < numbers.stop:  # noqa: ASYNC110 - nothing rings for a prompt alone
            await anyio.sleep(0.01)


async def _attached(remit: Running, root: SessionRecord, number: int) -> None:
    """A request that stays with its call, as the protocol room's do."""
    call_id = await remit.desk.begin(root, "task", _errand(number))
    shown: tuple[PromptId, ...] = ()
    while True:
        settled = await remit.desk.settle(root, call_id, seconds=600, shown=shown)
        if isinstance(settled, Ended):
            raise AssertionError(f"the child did not wait: {settled}")
        shown = tuple(prompt.id for prompt in settled.prompts)
