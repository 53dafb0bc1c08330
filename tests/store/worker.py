"""A process of its own that works on a store: `python -m tests.store.worker TASK FILE NAME`.

It says `ready`, waits for a line, does its task, and prints what came of it, a line each. So several can be let go at once.
"""

import os
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path

import anyio

from mcp_server.errors import LeaseLost, StoreError
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import PromptId, PromptState, RunId, TaskGiven
from mcp_server.store.connection import Database
from mcp_server.store.console_address import console_address, console_open
from mcp_server.store.sqlite import SqliteStore, open_store
from tests.store.samples import PRINCIPAL, a_ruling, a_session, an_answer, an_event
from tests.store.schemas import NEXT

ROOT = a_session()
NOBODY = 65534

PATIENCE = 120.0
"""Seconds for the lock, where several contend for it all the time and any of them may be held up by a busy machine."""


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def wait_for_go() -> None:
    say("ready")
    sys.stdin.readline()


async def claim(store: SqliteStore, name: str) -> None:
    """Claim each of the runs; say which were won."""
    for place in range(50):
        if await store.claim(RunId(f"run{place}"), owner=name, now=1.0, seconds=60.0):
            say(place)


async def advance(store: SqliteStore, name: str) -> None:
    """Take the one run over again and again, each time with a lapsed lease, and write under the fence that was won."""
    for turn in range(40):
        lease = await store.claim(RunId("run0"), owner=name, now=float(turn), seconds=0.0)
        run = await store.run(RunId("run0"))
        assert run is not None
        if lease is None:
            continue
        try:
            await store.save_run(run, lease, now=1.0, entries=(TaskGiven(text=str(lease.fence)),))
        except LeaseLost:
            continue
        say(lease.fence)


async def answer(store: SqliteStore, name: str) -> None:
    """Answer each of the prompts; say which were won."""
    for place in range(50):
        ruling = a_ruling(ROOT, f"rul{place}")
        if await store.close_prompt(
            PromptId(f"prm{place}"),
            PromptState.ANSWERED,
            answer=an_answer(words=name),
            rulings=(ruling,),
            events=(an_event(ROOT, f"{place} {name}"),),
        ):
            say(place)


async def use(store: SqliteStore, name: str) -> None:
    """Use each of the single-use rulings; say which were won."""
    for place in range(50):
        if await store.use_rulings((RulingId(f"once{place}"),), now=1.0, events=(an_event(ROOT, f"{place} {name}"),)):
            say(place)


async def audit(store: SqliteStore, name: str) -> None:
    """Write many events."""
    for place in range(100):
        await store.audit((an_event(ROOT, f"{name} {place}"),))


async def write_on(store: SqliteStore, name: str) -> None:
    """Write an entry and its audit in one transaction, say its number once it is written, until killed."""
    run_id = RunId("run0")
    lease = await store.claim(run_id, owner=name, now=1.0, seconds=60.0)
    run = await store.run(run_id)
    assert lease is not None
    assert run is not None
    place = 0
    while True:
        text = f"{name} {place} " + "x" * (place * 37 % 5000)
        await store.save_run(run, lease, now=1.0, entries=(TaskGiven(text=text),), events=(an_event(ROOT, f"{name} {place}"),))
        say(place)
        place += 1


async def sign_on(store: SqliteStore, name: str) -> None:
    """Write events and have them signed all the time, say how many there are, until killed."""
    place = 0
    while True:
        await store.audit([an_event(ROOT, f"{name} {place} {step}") for step in range(place % 5 + 1)], synced=bool(place % 3))
        if place % 2:
            await store.seal_audit()
        say(place)
        place += 1


TASKS: dict[str, Callable[[SqliteStore, str], Awaitable[None]]] = {
    task.__name__: task for task in (claim, advance, answer, use, audit, write_on, sign_on)
}


async def work(task: str, path: Path, name: str) -> None:
    store = open_store(path, wait_seconds=PATIENCE)
    wait_for_go()
    await TASKS[task](store, name)
    await store.close()


async def start(path: Path) -> None:
    """Open a store that is not there yet, at the same time as others."""
    wait_for_go()
    store = open_store(path, wait_seconds=PATIENCE)
    say(len(await store.sessions(PRINCIPAL)))
    await store.audit((an_event(),))
    await store.close()


def migrate(path: Path) -> None:
    """Open a store that is one version behind, at the same time as others."""
    wait_for_go()
    Database(path, wait_seconds=PATIENCE, migrations=NEXT).close()
    say("open")


def hold(path: Path) -> None:
    """Hold the write lock from `ready` until told to let go."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        wait_for_go()
        connection.execute("ROLLBACK")


def console(path: Path, address: str) -> None:
    """Be a console from `ready` until told to end."""
    with console_open(path, address):
        wait_for_go()


def look_for_console(path: Path, _name: str) -> None:
    """Say where one is."""
    wait_for_go()
    say(console_address(path))


async def open_on_full(path: Path) -> None:
    """Fill the disk, open the store that is there, say what was told, make room, and open it again."""
    store = open_store(path)
    await store.add_session(ROOT)
    await store.close()
    ballast = path.with_name("ballast")
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 1000)
    wait_for_go()
    try:
        open_store(path)
    except StoreError as error:
        say(f"{type(error).__name__} {error}")
    ballast.unlink()
    store = open_store(path)
    say(await store.session(ROOT.id, PRINCIPAL) == ROOT)
    await store.close()


async def write_unprivileged(path: Path) -> None:
    """Open a store as a user without root's powers, and try to write to it."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    wait_for_go()
    try:
        store = open_store(path)
        await store.audit((an_event(),))
    except StoreError as error:
        say(error)


async def fill(path: Path, size: int) -> None:
    """Write until the disk is full, say what was told, look whether all is whole, make room, and write again."""
    ballast = path.with_name("ballast")
    ballast.write_bytes(b"x" * 100_000)
    store = open_store(path)
    await store.add_session(ROOT)
    wait_for_go()
    written = 0
    try:
        while True:
            await store.audit((an_event(ROOT, str(written), tool="x" * size),))
            written += 1
    except StoreError as error:
        say(f"{type(error).__name__} {error}")
    log = await store.audit_log(limit=written + 10)
    whole = [stored.event.outcome for stored in log] == [str(place) for place in range(written)] and await store.faults() == ()
    say("whole" if whole and written > 0 else f"{len(log)} of {written}: {await store.faults()}")
    ballast.unlink()
    await store.audit((an_event(ROOT, tool="x" * size),))
    say("goes on")


def main() -> None:
    task, path, name = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    match task:
        case "hold":
            hold(path)
        case "console" | "look_for_console":
            (console if task == "console" else look_for_console)(path, name)
        case "migrate":
            migrate(path)
        case "start":
            anyio.run(start, path)
        case "fill":
            anyio.run(fill, path, int(name))
        case "open_on_full":
            anyio.run(open_on_full, path)
        case "write_unprivileged":
            anyio.run(write_unprivileged, path)
        case _:
            anyio.run(work, task, path, name)


if __name__ == "__main__":
    main()
