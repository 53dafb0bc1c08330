"""Crowds: ten thousand children that wait in one process, and two hundred that act at once."""

import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from benchmarks.children import WORKER, wide
from benchmarks.ground import Ground, at_work, ground
from benchmarks.measuring import Figure, words
from mcp_server.app import STORE_FILE, Running
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import (
    FINAL,
    Answer,
    CallStarted,
    ModelTurn,
    Prompt,
    PromptId,
    Question,
    QuestionSubject,
    RunId,
    RunRecord,
    RunState,
    SessionRecord,
    TaskGiven,
    Usage,
)
from mcp_server.sessions.deployment import Limits
from mcp_server.sessions.digests import call_digest
from mcp_server.sessions.front import Caller
from mcp_server.settings.places import private_folder
from mcp_server.store import prompt_rows, run_rows, session_rows
from mcp_server.store.connection import Database
from mcp_server.store.ids import mint
from mcp_server.store.sqlite import open_store

WAITING = 10_000

ACTIVE = 200

TURNS = 5

IDLE = 5.0
"""Seconds over which an idle process is watched."""

SETTLED = 3.0
"""Seconds in which a process that has just started looks at everything once."""

ANSWERED = 20

LOOKS = {"calls": [{"tool": "read", "arguments": {"filePath": "small.txt"}}, {"tool": "glob", "arguments": {"pattern": "*.txt"}}]}
LISTS = {"calls": [{"tool": "list", "arguments": {"path": "."}}]}
ACTS: Mapping[str, Any] = {"worker": [LOOKS, LISTS, LOOKS, LISTS, {"text": "It is done."}], "title": [{"text": "An errand"}]}
ENDS: Mapping[str, Any] = {"worker": [LOOKS, {"text": "It is done."}], "title": [{"text": "An errand"}]}


def figures() -> list[Figure]:
    """Those that wait, then those that act."""
    return [*anyio.run(_waiting), *anyio.run(_active)]


# ---- ten thousand that wait -------------------------------------------------------------------------


async def _waiting() -> list[Figure]:
    with ground(script=ENDS, agents={"worker": WORKER}) as made:
        async with _started(made) as (_, empty_took, empty_weight):
            pass
        await _crowd(made)
        async with _started(made) as (remit, took, weight):
            await anyio.sleep(SETTLED)
            idle = await _share(IDLE)
            busy = await _beside(made)
            answers = [await _answered(remit) for _ in range(ANSWERED)]
    each = (weight - empty_weight) / WAITING / 1024
    return [
        Figure(
            name=f"start with {WAITING:,} waiting children",
            measured=f"{words(took)} of CPU, {words(took - empty_took)} of it for them",
            target="",
            met=None,
            how="from nothing to listening for each of their prompts, against the same start with an empty store",
        ),
        Figure(
            name="memory of each",
            measured=f"{each:.1f} KiB",
            target="at most 20 KiB",
            met=each <= 20.0,
            how="what the process took from the system for them, less what it takes without them",
        ),
        Figure(
            name="CPU while all wait",
            measured=f"{idle:.1%} of one processor",
            target="at most 5 %",
            met=idle <= 0.05,
            how=f"{IDLE:g} s in which nothing happens",
        ),
        Figure(
            name="CPU while another process writes to the store",
            measured=f"{busy:.1%} of one processor",
            target="",
            met=None,
            how="the same, while another handle commits ten times a second: each time this process looks for what has changed",
        ),
        Figure(
            name="an answer to one of them",
            measured=f"{words(sorted(answers)[len(answers) // 2])} (slowest {words(max(answers))})",
            target="",
            met=None,
            how="from the answer to the end of its run, which takes one more turn; by the clock",
        ),
    ]


@asynccontextmanager
async def _started(made: Ground) -> AsyncGenerator[tuple[Running, float, float]]:
    """A server, how long it took to start, and how much larger the process is than before."""
    before, begun = _resident(), time.process_time()
    async with at_work(made, wide) as remit:
        yield remit, time.process_time() - begun, _resident() - before


def _resident() -> float:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * float(os.sysconf("SC_PAGE_SIZE"))


async def _share(seconds: float) -> float:
    spent, begun = time.process_time(), time.perf_counter()
    await anyio.sleep(seconds)
    return (time.process_time() - spent) / (time.perf_counter() - begun)


async def _beside(made: Ground) -> float:
    share = 0.0
    store = open_store(made.places.state / STORE_FILE)
    root = (await store.sessions(LOCAL.key, limit=100_000))[-1]

    async def writes() -> None:
        for number in range(1_000_000):
            await store.set_state(root.id, "n", str(number), synced=False)
            await anyio.sleep(0.1)

    async with anyio.create_task_group() as group:
        group.start_soon(writes)
        share = await _share(IDLE)
        group.cancel_scope.cancel()
    await store.close()
    return share


async def _answered(remit: Running) -> float:
    prompt = next(iter(remit.supervisor.prompting.open_ones.values()))
    begun = time.perf_counter()
    answer = Answer(choice=None, words='[["yes"]]', by=LOCAL.key, channel="approvals", at=time.time())
    if not await remit.desk.answer(prompt.id, answer, LOCAL):
        raise AssertionError("the answer was not taken")
    await _ended(remit, prompt.session_id)
    return time.perf_counter() - begun


async def _ended(remit: Running, session_id: SessionId) -> None:
    with anyio.fail_after(300):
        while True:
            with remit.supervisor.wakeups.listening(session_id) as bell:
                run = await remit.deployment.store.latest_run(session_id)
                if run is not None and run.state in FINAL:
                    break
                await bell.wait()
    if run.state is not RunState.COMPLETED:
        raise AssertionError(f"it ended as {run.state.value}: {run.outcome}")


async def _crowd(made: Ground) -> None:
    """A root and its children, each of which has asked a question."""
    database = Database(private_folder(made.places.state) / STORE_FILE)
    root = _session(made, SessionId(mint("ses")), None)

    def work(connection: sqlite3.Connection) -> None:
        session_rows.add(connection, root)
        for _ in range(WAITING):
            child = _session(made, SessionId(mint("ses")), root)
            call = ToolCall(id=CallId(mint("call")), tool="question", arguments={"questions": [{"question": "Go on?"}]})
            prompt = _prompt(root, child, call)
            run = _run(child, prompt)
            session_rows.add(connection, child)
            turn = ModelTurn(text="", calls=(call,), model="scripted:x", usage=Usage(turns=1))
            run_rows.add(connection, run, (TaskGiven(text="Do it."), turn, CallStarted(call_id=call.id)))
            prompt_rows.add(connection, prompt)

    await database.write(work)
    database.close()


def _session(made: Ground, session_id: SessionId, parent: SessionRecord | None) -> SessionRecord:
    return SessionRecord(
        id=session_id,
        principal=LOCAL.key,
        workspace=str(made.workspace),
        agent="build" if parent is None else "worker",
        root_id=session_id if parent is None else parent.id,
        parent_id=None if parent is None else parent.id,
        depth=0 if parent is None else 1,
        root_agent="build",
        title="An errand",
        created_at=time.time(),
    )


def _prompt(root: SessionRecord, child: SessionRecord, call: ToolCall) -> Prompt:
    return Prompt(
        id=PromptId(mint("prm")),
        principal=LOCAL.key,
        root_id=root.id,
        session_id=child.id,
        session_path=("build", "worker"),
        chain=(root.id, child.id),
        calls=(call.id,),
        digest=call_digest(LOCAL.key, child.id, call.tool, call.arguments),
        subject=QuestionSubject(questions=(Question(question="Go on?"),)),
        created_at=time.time(),
        background=True,
    )


def _run(child: SessionRecord, prompt: Prompt) -> RunRecord:
    return RunRecord(
        id=RunId(mint("run")),
        session_id=child.id,
        root_id=child.root_id,
        principal=LOCAL.key,
        workspace=child.workspace,
        state=RunState.WAITING,
        reason="waits for 1 answer(s) of a person",
        background=True,
        description="An errand",
        created_at=time.time(),
        updated_at=time.time(),
        waits_for=(prompt.id,),
    )


# ---- two hundred that act ---------------------------------------------------------------------------


def crowded(limits: Limits) -> Limits:
    """Room for all of them."""
    return replace(limits, children=ACTIVE + 10)


async def _active() -> list[Figure]:
    with ground(script=ACTS, agents={"worker": WORKER}) as made:
        async with at_work(made, crowded) as remit:
            caller = Caller(principal=LOCAL, workspace=str(made.workspace), agent="build")
            roots = [await remit.desk.open_root(caller, shared=False) for _ in range(4)]
            took: list[float] = []
            begun, spent = time.perf_counter(), time.process_time()
            async with anyio.create_task_group() as group:
                for number in range(ACTIVE):
                    group.start_soon(_worked, remit, roots[0 if number < ACTIVE - 3 else number - ACTIVE + 4], number, took)
            wall, cpu = time.perf_counter() - begun, time.process_time() - spent
            alone = await _alone_in_their_trees(remit, roots[1:])
    took.sort()
    return [
        Figure(
            name=f"{ACTIVE} children at once",
            measured=f"{words(wall)} for all, {words(cpu / ACTIVE)} of CPU each; half ended within {words(took[len(took) // 2])}",
            target="all end, none starved",
            met=len(took) == ACTIVE,
            how=f"each takes {TURNS} turns of a script and six calls through the gate; all in one tree but for three, each in its own",
        ),
        Figure(
            name="the three that are alone in their trees",
            measured=f"ended within {words(max(alone))}, the slowest of all after {words(took[-1])}",
            target="before half of the large tree",
            met=max(alone) <= took[len(took) // 2],
            how="begun last; trees take turns at the places for models and tools",
        ),
    ]


async def _worked(remit: Running, root: SessionRecord, number: int, took: list[float]) -> None:
    begun = time.perf_counter()
    arguments = {"description": f"errand {number}", "prompt": "Do it.", "subagent_type": "worker", "background": True}
    call_id = await remit.desk.begin(root, "task", arguments)
    await remit.desk.settle(root, call_id, seconds=120)
    await remit.desk.detach(call_id)
    for child in await remit.deployment.store.children(root.id):
        if child.title.startswith(f"errand {number} "):
            await _ended(remit, child.id)
            took.append(time.perf_counter() - begun)
            return
    raise AssertionError("the child is not there")


async def _alone_in_their_trees(remit: Running, roots: Sequence[SessionRecord]) -> list[float]:
    """Seconds from the start of each run to its end."""
    found: list[float] = []
    for root in roots:
        for child in await remit.deployment.store.children(root.id):
            steps = await remit.deployment.store.changes(child.id)
            found.append(steps[-1].at - steps[0].at)
    return found
