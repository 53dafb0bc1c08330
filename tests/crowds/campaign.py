"""A week of use: thousands of people and programs come to a gateway, a process of its own, and leave in every way there is; how much it
holds is asked as they come and once they have gone.
"""

import json
import random
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import anyio
import httpx2
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.bounds import LONG
from tests.crowds.serving import IDLE
from tests.crowds.visits import Crowd
from tests.gateway.authorization import issuing
from tests.protocol.connect import ROOT

AT_ONCE = 20
PART = 500
"""Visits between two looks at what the gateway holds."""

WARM = 4
"""Looks until a gateway has loaded and kept what it keeps for good: its caches have a bound, and fill up to it."""

SLACK_KILOBYTES = 30_000
"""By which memory may move after that. Of 10,000 sessions four kilobytes each that were kept would show."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came of one campaign."""

    visits: int
    looks: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    gone: dict[str, int] = field(default_factory=dict[str, int])
    """What was held once all had gone."""
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """What retention left."""
    wrong: list[str] = field(default_factory=list[str])
    late: int = 0
    """Visits that were made once more, since their connection was ended for want of a word."""


class Held:
    """The gateway's process, as far as it says what it holds."""

    def __init__(self, process: Process, url: str, lines: BufferedByteReceiveStream) -> None:
        self.url = url
        self._process = process
        self._lines = lines

    async def ask(self, word: str = "held") -> dict[str, int]:
        assert self._process.stdin is not None
        await self._process.stdin.send(f"{word}\n".encode())
        with anyio.fail_after(10 * LONG):
            return json.loads(await self._lines.receive_until(b"\n", 100_000))


@asynccontextmanager
async def gateway(folder: Path, issuer: str) -> AsyncGenerator[Held]:
    """From when it listens until it is ended."""
    command = [sys.executable, "-m", "tests.crowds.serving", str(folder / "team"), issuer]
    with (folder / "gateway.log").open("wb") as errors:
        async with await anyio.open_process(command, cwd=ROOT, stderr=errors) as process:
            assert process.stdout is not None
            lines = BufferedByteReceiveStream(process.stdout)
            with anyio.fail_after(4 * LONG):
                url = (await lines.receive_until(b"\n", 1000)).decode()
            try:
                yield Held(process, url, lines)
            finally:
                process.terminate()


async def campaign(folder: Path, visits: int, seed: int, say: Callable[[str], None]) -> Tally:
    """`say` is told every look."""
    tally = Tally(visits=visits)
    async with issuing() as issuer, gateway(folder, issuer.url) as held:

        @cache
        def token(person: str, client: str) -> str:
            return issuer.token(held.url, sub=person, client_id=client, exp=int(time.time()) + 80_000)

        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=AT_ONCE)
        async with httpx2.AsyncClient(timeout=2 * LONG, limits=limits) as wire:
            crowd = Crowd(url=held.url, token=token, wire=wire, dice=random.Random(seed), idle=IDLE)  # noqa: S311 - a seed repeats it
            for done in range(0, visits, PART):
                await crowd.visits(min(PART, visits - done), AT_ONCE)
                tally.looks.append(await held.ask())
                say(f"{done + PART}: {tally.looks[-1]}, {len(crowd.wrong)} wrong, {crowd.late} too late")
                for line in crowd.wrong[len(tally.wrong) :]:
                    say(f"  {line}")
                tally.wrong, tally.late = list(crowd.wrong), crowd.late
        tally.gone = await _once_all_have_gone(held, tally.looks[0])
        tally.rows = await held.ask("old")
    tally.wrong += judged(tally)
    return tally


async def _once_all_have_gone(held: Held, first: dict[str, int]) -> dict[str, int]:
    """Look until nothing is left of those who came, or for as long as anything may take."""
    now = await held.ask()
    with anyio.move_on_after(2 * LONG):
        while now["sessions"] or now["processes"] or now["tasks"] > first["tasks"]:
            await anyio.sleep(1)
            now = await held.ask()
    return now


def judged(tally: Tally) -> list[str]:
    """What is held that should not be."""
    wrong = [f"{tally.gone[name]} {name} are left" for name in ("sessions", "processes") if tally.gone[name]]
    warm, last = tally.looks[min(WARM, len(tally.looks)) - 1], tally.looks[-1]
    for name, slack in (("tasks", 5), ("descriptors", 10)):
        most = min(look[name] for look in tally.looks) + slack
        if tally.gone[name] > most:
            wrong.append(f"{tally.gone[name]} {name} are left")
    if last["kilobytes"] > warm["kilobytes"] + SLACK_KILOBYTES:
        wrong.append(f"memory grew from {warm['kilobytes']} to {last['kilobytes']} kB")
    wrong += [f"{count} rows of {name} are left" for name, count in tally.rows.items() if count and name != "audit"]
    return wrong
