"""Servers behind Remit that are lost and come back, and calls of them that are given up: over standard streams and over HTTP, of both eras,
by clients of both. What Remit holds is counted before and after.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.client import Client

from mcp_server.protocol.upstream import standing
from tests.behaviour.stories import bounded, until
from tests.behaviour.world import World, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import ERAS, Cell, Era, client_of

BARE = (sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "upstream" / "bare.py"))

MARK = "REMIT_LOSSES"
"""A variable that each server of a campaign has, and what it starts, so that they are found whoever's children they are."""

AT_ONCE = 10
"""Calls that are begun together and given up."""

SOON = 0.03
"""Seconds within which a call is given up: before it is decided, while it is, or when its server has it."""

SERVERS: Mapping[str, tuple[str, ...]] = {"pipes-old": (), "pipes-new": ("modern",), "http-old": (), "http-new": ("modern",)}


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came of one campaign."""

    lost: int = 0
    given_up: int = 0
    before: dict[str, int] = field(default_factory=dict[str, int])
    after: dict[str, int] = field(default_factory=dict[str, int])
    wrong: list[str] = field(default_factory=list[str])


class AtPort:
    """A server over HTTP, which is killed and started again at the same port."""

    def __init__(self, mark: str, arguments: tuple[str, ...]) -> None:
        self.port = 0
        self._mark = mark
        self._arguments = arguments
        self._process: Process | None = None

    async def start(self) -> None:
        command = [*BARE, "http", str(self.port), *self._arguments]
        self._process = await anyio.open_process(command, env={MARK: self._mark}, stderr=None)
        assert self._process.stdout is not None
        lines = BufferedByteReceiveStream(self._process.stdout)
        with anyio.fail_after(LONG):
            self.port = int(await lines.receive_until(b"\n", 100))

    async def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.aclose()


@dataclass(slots=True, kw_only=True)
class Ground:
    """What a campaign goes over."""

    clients: Mapping[Era, Client]
    at_port: Mapping[str, AtPort]
    dice: random.Random

    async def says(self, era: Era, server: str) -> None:
        """Call it until it answers as it should."""

        async def said() -> bool:
            return text_of(await self.clients[era].call_tool(f"{server}__say", {"text": "on"})) == "said on"

        await until(said)

    async def lose(self, era: Era, server: str) -> None:
        """Have it end, and come back."""
        if server in self.at_port:
            await self._lose_at_port(era, server)
        else:
            await self._lose_process(era, server)
        await self.says(era, server)

    async def _lose_at_port(self, era: Era, server: str) -> None:
        async with anyio.create_task_group() as group:
            if self.dice.random() < 0.5:
                group.start_soon(bounded, self.clients[era].call_tool(f"{server}__hang"))
                await self.says(era, server)
            await self.at_port[server].kill()
            if self.dice.random() < 0.3:
                await bounded(self.clients[era].call_tool(f"{server}__say", {"text": "lost"}))
            await self.at_port[server].start()

    async def _lose_process(self, era: Era, server: str) -> None:
        client, way = self.clients[era], self.dice.choice(("dies", "is killed", "leaves a child"))
        if way == "dies":
            await bounded(client.call_tool(f"{server}__die"))
            return
        told = text_of(await bounded(client.call_tool(f"{server}__{'pid' if way == 'is killed' else 'fork'}")))
        os.kill(int(told.split()[0]), signal.SIGKILL)

    async def give_up(self, era: Era, server: str) -> None:
        """Begin some calls that are never answered, and leave them."""

        async def one() -> None:
            with anyio.move_on_after(self.dice.uniform(0, SOON)):
                await self.clients[era].call_tool(f"{server}__hang", {"for": self.dice.random()})

        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(one)
        await self.says(era, server)


@asynccontextmanager
async def ground(folder: Path, dice: random.Random) -> AsyncGenerator[Ground]:
    """Remit, its clients and the servers."""
    async with AsyncExitStack() as stack:
        at_port = {name: AtPort(str(folder), arguments) for name, arguments in SERVERS.items() if name.startswith("http")}
        for one in at_port.values():
            await one.start()
            stack.push_async_callback(one.kill)
        connected = await stack.enter_async_context(connect(_world(folder, at_port), Cell(transport="memory", era=ERAS[0])))
        assert connected.parts is not None
        newer = await stack.enter_async_context(client_of(connected.parts.server, ERAS[1], None))
        yield Ground(clients={ERAS[0]: connected.client, ERAS[1]: newer}, at_port=at_port, dice=dice)


def _world(folder: Path, at_port: Mapping[str, AtPort]) -> World:
    servers: dict[str, Any] = {}
    for name, arguments in SERVERS.items():
        if name in at_port:
            servers[name] = {"url": f"http://127.0.0.1:{at_port[name].port}/mcp"}
        else:
            servers[name] = {"command": BARE[0], "args": [*BARE[1:], *arguments], "env": {MARK: str(folder)}}
    return make_world(folder, settings={"mcpServers": servers, "permission": {"*__*": "allow"}})


async def campaign(folder: Path, losses: int, given_up: int, seed: int, say: Callable[[str], None]) -> Tally:
    """So many losses and so many calls given up, in an order of chance. `say` is told how far it is."""
    tally, dice = Tally(), random.Random(seed)  # noqa: S311 - a seed repeats it
    # A server that is lost at once is left alone for longer and longer: that is another test's, and would take hours here.
    pause, standing.FIRST_PAUSE = standing.FIRST_PAUSE, 0.0
    try:
        async with ground(folder, dice) as made:
            pairs: list[tuple[Era, str]] = [(era, server) for era in ERAS for server in SERVERS]
            for era, server in pairs:
                await made.lose(era, server)
            tally.before = held(folder)
            steps = ["lose"] * losses + ["give up"] * (given_up // AT_ONCE)
            dice.shuffle(steps)
            for done, step in enumerate(steps):
                era, server = pairs[done % len(pairs)] if done < len(pairs) else dice.choice(pairs)
                if step == "lose":
                    await made.lose(era, server)
                    tally.lost += 1
                else:
                    await made.give_up(era, server)
                    tally.given_up += AT_ONCE
                if done % 20 == 19:
                    say(f"{tally.lost} lost, {tally.given_up} given up: {held(folder)}")
            tally.after = await _settled(folder, tally.before)
    finally:
        standing.FIRST_PAUSE = pause
    tally.wrong = [
        f"{tally.after[name]} {name}, {tally.before[name]} before" for name in tally.after if tally.after[name] > tally.before[name]
    ]
    if (left := len(marked(folder))) > 0:
        tally.wrong.append(f"{left} processes after the end")
    return tally


async def _settled(folder: Path, before: Mapping[str, int]) -> dict[str, int]:
    """What is held once what was given up has been let go, or after as long as that may take."""

    async def let_go() -> bool:
        return all(count <= before[name] for name, count in held(folder).items())

    with suppress(TimeoutError):
        await until(let_go)
    return held(folder)


def held(folder: Path) -> dict[str, int]:
    """Counts of what this process holds now, and of the campaign's servers with what they started."""
    return {
        "tasks": len(asyncio.all_tasks()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(marked(folder)),
    }


def marked(folder: Path) -> list[int]:
    """Processes that are of the campaign in this folder, wherever they belong."""
    sought, found = f"{MARK}={folder}".encode(), list[int]()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if sought in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
        except OSError:  # gone meanwhile
            continue
    return found
