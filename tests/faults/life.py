"""One life of a server with its client and its person, from its start to its death or to the end of what the client wants.

Everything is the real thing but the transport: the client is one that speaks to the front door directly, and dies with the server.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread

from mcp_server.app import Running, running
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import FINAL, Answer, ApprovalSubject, Prompt, RunId, RunState, SessionRecord
from mcp_server.sessions.deployment import Limits
from mcp_server.sessions.executor import Advance, Executor, InProcess
from mcp_server.sessions.front import Caller, Ended
from mcp_server.settings.values import Flags
from mcp_server.store.protocol import Store
from tests.behaviour.stories import release
from tests.behaviour.world import World
from tests.faults.points import Fault, FaultyDatabase, FaultyStore, Log
from tests.faults.tales import Tale

LEASE = 1.0
"""Seconds: what a death costs whoever goes on."""

LOOK = 0.01
"""Seconds between two looks of the client."""

LONGEST = 120.0
"""Seconds that one life may take."""


def limits(before: Limits) -> Limits:
    return replace(before, lease_seconds=LEASE)


def writes_log(world: World, life: int) -> Log:
    return Log(world.folder / f"writes-{life}.log")


def people_log(world: World) -> Log:
    """What the person was shown and answered, over all lives."""
    return Log(world.folder / "people.log")


class Lazy(InProcess):
    """Loses the first delivery of each run."""

    def __init__(self, advance: Advance) -> None:
        super().__init__(advance)
        self._known: set[RunId] = set()

    def deliver(self, run_id: RunId) -> None:
        if run_id in self._known:
            super().deliver(run_id)
        self._known.add(run_id)


def live(world: World, tale: Tale, life: int, fault: Fault | None, *, alone: bool = False) -> None:
    """Live it. Returns where nothing came over the process. `alone`: client and person do nothing once the task is begun."""
    anyio.run(_live, world, tale, life, fault, alone)


async def _live(world: World, tale: Tale, life: int, fault: Fault | None, alone: bool) -> None:
    def opened(path: Path) -> Store:
        return FaultyStore(FaultyDatabase(path, fault, writes_log(world, life)))

    to_thread.current_default_thread_limiter().total_tokens = 4
    executor: Callable[[Advance], Executor] = Lazy if tale.lazy and life == 0 else InProcess
    served = running(
        workspace=world.workspace,
        places=world.places,
        flags=Flags(),
        environment=os.environ,
        limits=limits,
        opened=opened,
        executor=executor,
    )
    with anyio.fail_after(LONGEST):
        async with served as parts, anyio.create_task_group() as group:
            if alone:
                await _begun(tale, parts, world)
                await anyio.sleep_forever()
            group.start_soon(_person, world, tale, parts)
            await _client(world, tale, parts, life)
            group.cancel_scope.cancel()


# ---- the client -----------------------------------------------------------------------------------


async def _begun(tale: Tale, parts: Running, world: World) -> tuple[SessionRecord, SessionId]:
    root = await parts.desk.open_root(Caller(principal=LOCAL, workspace=str(world.workspace), agent="build"), shared=True)
    return root, await _child(parts, root) or await _begin(tale, parts, root)


async def _client(world: World, tale: Tale, parts: Running, life: int) -> None:
    root, child = await _begun(tale, parts, world)
    if tale.client == "cancels":
        await _until(parts, child, {tale.when, *FINAL})
        await _called(parts, root, "task_cancel", {"task_id": child})
    if tale.client == "leaves" and life == 0:
        await _until(parts, child, {RunState.RUNNING, *FINAL})
        await anyio.sleep(LOOK)
        return
    release(world, "ready")
    (world.workspace / "go").touch()
    await _until(parts, child, FINAL)


async def _child(parts: Running, root: SessionRecord) -> SessionId | None:
    """A client that comes back looks for what it has begun."""
    children = await parts.deployment.store.children(root.id)
    return children[0].id if children else None


async def _begin(tale: Tale, parts: Running, root: SessionRecord) -> SessionId:
    errand = {"description": "a job", "prompt": "do it", "subagent_type": tale.agent, "background": True}
    result = await _called(parts, root, "task", errand)
    return SessionId(str(result["task_id"]))


async def _called(parts: Running, root: SessionRecord, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
    call_id = await parts.desk.begin(root, tool, arguments)
    settled = await parts.desk.settle(root, call_id, seconds=LONGEST)
    await parts.desk.detach(call_id)
    if not isinstance(settled, Ended) or settled.result.structured is None:
        raise AssertionError(f"`{tool}` came to {settled}")
    return settled.result.structured


async def _until(parts: Running, child: SessionId, states: set[RunState] | frozenset[RunState]) -> None:
    """Until the child's run is in one of these states."""
    while True:
        with parts.supervisor.wakeups.listening(child) as bell:
            run = await parts.deployment.store.latest_run(child)
            if run is not None and run.state in states:
                return
            with anyio.move_on_after(LOOK):
                await bell.wait()


# ---- the person -----------------------------------------------------------------------------------


async def _person(world: World, tale: Tale, parts: Running) -> None:
    """Sees each prompt once, and answers what the tale says. What was taken is noted: it must not be asked again."""
    log = people_log(world)
    if tale.client == "cancels" and tale.when is RunState.WAITING:
        return  # never there in time
    while True:
        for prompt in list(parts.supervisor.prompting.open_ones.values()):
            if await parts.desk.show(prompt.id) is None:
                continue
            log.add("shown", prompt.id)
            if await parts.desk.answer(prompt.id, _answer(prompt, tale), LOCAL):
                log.add("answered", prompt.id)
        await anyio.sleep(LOOK)


def _answer(prompt: Prompt, tale: Tale) -> Answer:
    approval = isinstance(prompt.subject, ApprovalSubject)
    return Answer(
        choice=tale.choice if approval else None,
        words="" if approval else json.dumps([["this"]]),
        by=LOCAL.key,
        channel="form",
        at=prompt.created_at,
    )


def quiet() -> None:
    """What a life says of itself goes nowhere: what counts is in the store."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(null, stream)
    sys.stdin = open(os.devnull)  # noqa: SIM115 - for the life of the process
