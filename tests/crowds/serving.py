"""`python -m tests.crowds.serving FOLDER ISSUER`: a gateway that ends what is idle after seconds. It says its address, and for each line
on its standard input how much it holds; for the line `old`, which rows are left once everything is old.
"""

import gc
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from mcp_server.app import STORE_FILE
from mcp_server.cli.logs import log_to
from mcp_server.records import PromptState
from mcp_server.sessions.retention import DAY
from tests.behaviour.stories import agent, calls, says, until
from tests.behaviour.world import World, make_world
from tests.gateway.inside import Inside, inside

IDLE = 3.0
"""Seconds without a word after which a connection of 2025-11-25 is ended; an hour outside of tests."""

READER: list[dict[str, Any]] = [calls(("read", {"filePath": "README.md"})), says("it says: {{results[0].text}}")]


def world_in(folder: Path) -> World:
    script: dict[str, list[dict[str, Any]]] = {"reader": READER, "title": [says("a job")]}
    settings = {"permission": {"bash": "allow"}, "retention": {"days": 1, "audit_days": 1}}
    return make_world(folder, script=script, agents={"reader": agent()}, settings=settings, files={"README.md": "A sample.\n"})


def children() -> list[int]:
    """Processes that this one has started and that are there."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone meanwhile
            continue
        if parent == os.getpid():
            found.append(int(folder.name))
    return found


ROWS = ("sessions", "session_state", "runs", "entries", "prompts", "rulings", "promised", "audit")


def rows_in(world: World) -> dict[str, int]:
    """Of each table whose rows are of callers."""
    with closing(sqlite3.connect(world.places.state / STORE_FILE)) as store:
        return {name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ROWS}  # noqa: S608 - names from above


async def old(gateway: Inside) -> dict[str, int]:
    """The rows that are left once all is old: what waited has expired, what was silent has ended, and retention has gone through."""
    gateway.ahead[0] += 40 * DAY

    async def ended() -> bool:
        return not await gateway.store.prompts(state=PromptState.OPEN) and not await gateway.store.unfinished_runs()

    await until(ended)
    gateway.ahead[0] += 40 * DAY
    await gateway.parts.tidy()
    return rows_in(gateway.world)


def held_by(gateway: Inside) -> dict[str, int]:
    """Counts of what a gateway holds now, and its memory in kilobytes."""
    gc.collect()
    return {
        "sessions": gateway.sessions,
        "tasks": gateway.tasks,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(children()),
        "kilobytes": int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1]),
    }


async def main() -> None:
    log_to(sys.stderr, "warning", os.environ)
    async with inside(world_in(Path(sys.argv[1])), {"issuers": [{"issuer": sys.argv[2]}]}, idle=IDLE) as gateway:
        sys.stdout.write(f"{gateway.url}\n")
        sys.stdout.flush()
        while line := await to_thread.run_sync(sys.stdin.readline):
            told = await old(gateway) if line.strip() == "old" else held_by(gateway)
            sys.stdout.write(f"{json.dumps(told)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main)
