"""Kills servers, and looks what became of their runs: `python -m tests.faults [RUNS [SEED]]`.

Each run is a tale told over several lives. Which writes a tale comes to is found by telling it once undisturbed; then the server is killed
before or after one of them, and another one goes on in the same store, which may be killed as well. Every process is a fork of this one,
so that a life costs no start.
"""

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import anyio

from mcp_server.app import STORE_FILE
from mcp_server.principal import LOCAL
from mcp_server.records import CallEnded, RunState
from mcp_server.sessions.transitions import TRANSITIONS
from mcp_server.store.sqlite import open_store
from tests.behaviour.world import World, make_world
from tests.faults.judging import faults_of
from tests.faults.life import LONGEST, live, quiet, writes_log
from tests.faults.points import SIDES, Fault, step_name
from tests.faults.tales import FILES, SETTINGS, TALES, Step, Tale

TELLINGS = 5
"""Of a tale, until it has taken its steps."""

EARLY = (step_name("queued", "running"), step_name("running", "running"))
"""Steps that a run takes before its first command, at which even an everyday campaign stops a server."""

AGAIN = 0.35
"""How often the server that goes on is killed as well."""


STOPS = 0.25
"""How often the first server is not killed, but stopped for longer than its lease."""

WORKERS = 6
"""Runs at a time: most of one is waiting for the lease of a dead process to lapse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Midst:
    """A place between writes: the server is killed from outside once it is there."""

    name: str
    tale: str
    there: Callable[[World], bool]
    """Looks from outside."""


MIDSTS = (
    Midst(name="in a model call", tale="is laid down", there=lambda world: _run_is(world, RunState.RUNNING, ended=1)),
    Midst(name="in a tool call", tale="is held in a tool", there=lambda world: (world.workspace / "begun").exists()),
    Midst(name="while it waits for a person", tale="asks", there=lambda world: _run_is(world, RunState.WAITING, ended=1)),
    Midst(name="while it waits for a child", tale="sends another, who asks", there=lambda world: _run_is(world, RunState.WAITING, ended=0)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of a campaign."""

    tale: str
    faults: tuple[Fault, ...] = ()
    """One a life, in order; the life after the last is left alone."""
    midst: str = ""
    """The first life is killed there instead."""

    def __str__(self) -> str:
        told = [self.midst] if self.midst else []
        told += [
            f"{fault.side} {fault.name or 'write'} {fault.write}" + (" (stopped)" if fault.signal == signal.SIGSTOP else "")
            for fault in self.faults
        ]
        return f"{self.tale}: killed {', then '.join(told) or 'never'}"


@dataclass(slots=True, kw_only=True)
class Tally:
    """What runs of a campaign came to."""

    runs: int = 0
    kills: int = 0
    stops: int = 0
    points: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Where a process was killed: the write and the side."""
    wrong: list[str] = field(default_factory=list[str])

    def add(self, other: "Tally") -> None:
        """Count those too."""
        self.runs += other.runs
        self.kills += other.kills
        self.stops += other.stops
        self.points |= other.points
        self.wrong += other.wrong


def told(tale: Tale, folder: Path) -> World:
    """A world for it."""
    return make_world(folder, script=tale.script, agents=tale.agents, files=FILES, settings=SETTINGS)


def begun(world: World, tale: Tale, life: int, fault: Fault | None, *, alone: bool = False) -> int:
    """Have a process live it. Returns its number. `alone`: client and person do nothing once the task is begun."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        quiet()
        live(world, tale, life, fault, alone=alone)
        code = 0
    finally:
        os._exit(code)


def lived(world: World, tale: Tale, life: int, fault: Fault | None) -> int:
    """Have a process live it to its end. Returns how it ended: 0, an exit code, or minus a signal."""
    return waited(begun(world, tale, life, fault))


def waited(process: int, there: Callable[[], bool] = lambda: False) -> int:
    """How it ended. Killed once it is `there`, and where it takes too long."""
    until = time.monotonic() + LONGEST + 10.0
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if there():
            break
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -signal.SIGKILL if time.monotonic() < until else -signal.SIGALRM


def _run_is(world: World, state: RunState, *, ended: int) -> bool:
    """Is the run that the client began in this state, with so many of its calls ended?"""
    return anyio.run(_is, world, state, ended)


async def _is(world: World, state: RunState, ended: int) -> bool:
    if not writes_log(world, 0).lines():  # the store is being made, and not by us
        return False
    store = open_store(world.places.state / STORE_FILE)
    try:
        for session in await store.sessions(LOCAL.key):
            run = await store.latest_run(session.id)
            if session.depth == 1 and run is not None and run.state is state:
                entries = await store.transcript(session.id)
                return sum(isinstance(stored.entry, CallEnded) for stored in entries) >= ended
        return False
    finally:
        await store.close()


def writes_of(name: str) -> tuple[list[str], list[str]]:
    """The writes that the tale comes to when nobody disturbs it, in order; and what is wrong with it even then. Told again where it did
    not take its own steps: a server that a busy machine holds up at its end leaves a run as it is, for the next one.
    """
    steps = {step_name(old.value, new.value) for old, new in TALES[name].steps}
    written, wrong = _writes_of(name)
    for _ in range(TELLINGS - 1):
        if wrong or steps.issubset(written):
            break
        written, wrong = _writes_of(name)
    return written, wrong


def _writes_of(name: str) -> tuple[list[str], list[str]]:
    tale = TALES[name]
    with tempfile.TemporaryDirectory(prefix="remit-campaign-") as folder:
        world = told(tale, Path(folder))
        codes = [lived(world, tale, 0, None)]
        if tale.client == "leaves":
            codes.append(lived(world, tale, 1, None))
        wrong = [f"ended with {code}" for code in codes if code] + anyio.run(faults_of, world, tale)
        return [line[0] for line in writes_log(world, 0).lines()], [f"{name}, undisturbed: {fault}" for fault in wrong]


def run_of(plan: Plan) -> Tally:
    """One run, counted and judged. Told again where it never came to the step it was to be killed at: see `writes_of`."""
    tally = _run_of(plan)
    for _ in range(TELLINGS - 1):
        if tally.wrong or tally.kills or tally.stops or not any(fault.name for fault in plan.faults):
            break
        tally = _run_of(plan)
    return tally


def _run_of(plan: Plan) -> Tally:
    tale, tally = TALES[plan.tale], Tally(runs=1)
    with tempfile.TemporaryDirectory(prefix="remit-campaign-") as folder:
        world = told(tale, Path(folder))
        lives = 0
        for midst in MIDSTS:
            if midst.name == plan.midst:
                code = waited(begun(world, tale, 0, None, alone=True), partial(midst.there, world))
                _count(tally, plan, code, (midst.name, ""))
                lives = 1
        for fault in plan.faults:
            if fault.signal == signal.SIGSTOP:
                lives += _stopped(world, tale, lives, fault, plan, tally)
                continue
            code = lived(world, tale, lives, fault)
            written = writes_log(world, lives).lines()
            if code or reaches(written, fault):
                _count(tally, plan, code, (point_of(written, fault), fault.side))
            lives += 1
        for life in range(lives, max(lives + 1, 2 if tale.client == "leaves" else 0)):
            code = lived(world, tale, life, None)
            if code:
                tally.wrong.append(f"{plan}: the life after ended with {code}")
        tally.wrong += [f"{plan}: {fault}" for fault in anyio.run(faults_of, world, tale)]
    return tally


def _stopped(world: World, tale: Tale, life: int, fault: Fault, plan: Plan, tally: Tally) -> int:
    """A server stops; another one goes on in its place, to the end; then the first one wakes up. Returns how many lives that was."""
    first = begun(world, tale, life, fault)
    _, status = os.waitpid(first, os.WUNTRACED)
    if not os.WIFSTOPPED(status):  # it never came there
        if code := os.waitstatus_to_exitcode(status):
            tally.wrong.append(f"{plan}: a life that was to be stopped ended with {code}")
        return 1
    tally.stops += 1
    tally.points.add((point_of(writes_log(world, life).lines(), fault), f"stopped {fault.side}"))
    second = lived(world, tale, life + 1, None)
    os.kill(first, signal.SIGCONT)
    for code in (second, waited(first)):
        if code:
            tally.wrong.append(f"{plan}: one of two lives ended with {code}")
    return 2


def reaches(written: Sequence[Sequence[str]], fault: Fault) -> bool:
    """Did a life that wrote this come to the fault's point?"""
    return sum(not fault.name or line[0] == fault.name for line in written) > fault.write


def point_of(written: Sequence[Sequence[str]], fault: Fault) -> str:
    """The write that the fault came over."""
    return fault.name or written[min(fault.write, len(written) - 1)][0]


def _count(tally: Tally, plan: Plan, code: int, point: tuple[str, str]) -> None:
    if code == -signal.SIGKILL:
        tally.kills += 1
        tally.points.add(point)
    else:
        tally.wrong.append(f"{plan}: a life that was to be killed ended with {code}")


def step_points(writes: Mapping[str, Sequence[str]]) -> Iterator[tuple[Step, Plan]]:
    """For each step of the table and either side of its write, the plan that kills there, by the tales that take it."""
    for old, new in sorted(TRANSITIONS):
        name = step_name(old.value, new.value)
        for tale, written in writes.items():
            if (old, new) in TALES[tale].steps and name in written:
                for side in SIDES:
                    yield (old, new), Plan(tale=tale, faults=(Fault(write=0, name=name, side=side),))
                break


def write_points(writes: Mapping[str, Sequence[str]]) -> Iterator[Plan]:
    """For every other write that any tale comes to, either side of it; and every place between writes."""
    seen: set[str] = set()
    steps = {step_name(old.value, new.value) for old, new in TRANSITIONS}
    for tale, written in writes.items():
        for name in written:
            if name not in seen and name not in steps:
                seen.add(name)
                yield from (Plan(tale=tale, faults=(Fault(write=0, name=name, side=side),)) for side in SIDES)
    yield from (Plan(tale=midst.tale, midst=midst.name) for midst in MIDSTS)


def stopping(plan: Plan) -> Plan:
    """The same, but for what comes over the first server: it only stops."""
    return replace(plan, faults=(replace(plan.faults[0], signal=signal.SIGSTOP), *plan.faults[1:]))


def begins(written: Sequence[str]) -> int:
    """The write with which the client's task is there. A server that is stopped before has a client that goes on to begin one, and
    so does the one that goes on: these are two tasks, and nothing was done twice.
    """
    return written.index("add_child")


def random_plan(writes: Mapping[str, Sequence[str]], random_: random.Random) -> Plan:
    """Any write of any tale; perhaps another one in the life that follows."""
    tale = random_.choice(sorted(writes))
    faults = [Fault(write=random_.randrange(len(writes[tale])), side=random_.choice(SIDES))]
    while random_.random() < AGAIN and len(faults) < 3:
        faults.append(Fault(write=random_.randrange(max(2, len(writes[tale]) // 2)), side=random_.choice(SIDES)))
    plan = Plan(tale=tale, faults=tuple(faults))
    return stopping(plan) if random_.random() < STOPS and faults[0].write > begins(writes[tale]) else plan


def campaign(runs: int, seed: int) -> Tally:
    """Every step of the table and every place between writes, every other write, then random points until there are so many runs."""
    tally = Tally()
    random_ = random.Random(seed)  # noqa: S311 - a search, no secret
    with get_context("fork").Pool(WORKERS) as workers:
        writes: dict[str, list[str]] = {}
        for name, (written, wrong) in zip(TALES, workers.imap(writes_of, TALES), strict=True):
            writes[name] = written
            tally.wrong += wrong
        steps = list(step_points(writes))
        missing = TRANSITIONS - {step for step, _ in steps}
        tally.wrong += [f"no point to kill at for {step_name(old.value, new.value)}" for old, new in sorted(missing)]
        plans = [plan for _, plan in steps]
        others, stops = list(write_points(writes)), [stopping(plan) for plan in plans]
        if runs >= len(plans) + len(others) + len(stops):
            plans += [*others, *stops]
        else:  # a server that is stopped while it runs a command may hold what every other one needs for its own
            early = [plan for plan in stops if plan.faults[0].name in EARLY]
            plans += [*early, *random_.sample(others, max(0, runs - len(plans) - len(early)))]
        plans += [random_plan(writes, random_) for _ in range(runs - len(plans))]
        for one in workers.imap_unordered(run_of, plans):
            tally.add(one)
    return tally
