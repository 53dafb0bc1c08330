"""Load through what stands before the same server: nothing, a proxy on the SDK alone, FastMCP's proxy, Remit with and without what governs,
and ContextForge.

Each is a process of its own that is there during the whole measurement; they are called by turns, in rounds.
"""

import asyncio
import json
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.callers import ERAS, Caller
from benchmarks.ground import Ground, ground
from benchmarks.measuring import Figure, words
from benchmarks.servers import spent_by

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
"""Where `make peers` puts what must not be in Remit's own environment."""

FASTMCP, CONTEXTFORGE = "4.2.3", "1.0.7.post20260921"
"""As the Makefile installs them."""

ADDED = 1e-3
"""Seconds that Remit may add to a call, beside the proxy on the SDK alone."""

CALLERS = (1, 10, 50)

ROUNDS, SECONDS = 4, 1.5
"""Of each number of callers, and how long each of them takes."""

STARTING = 120.0
"""Seconds until a server must answer."""

RULES = {"play__*": "allow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something to call."""

    name: str
    url: str
    tool: str
    process: int
    """Its id."""
    eras: Sequence[str] = ERAS


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of one target at one number of callers."""

    rate: float
    """Calls a second."""
    p50: float
    p99: float
    cpu: float
    """Of its own process, a call."""


def figures() -> list[Figure]:
    """A row a target, number of callers and era."""
    with ground() as made, ExitStack() as stack:
        targets = _targets(made, stack)
        found = {era: asyncio.run(_measured([one for one in targets if era in one.eras], era)) for era in ERAS}
    return [figure for era in ERAS for figure in _figures(found[era], era)]


def _figures(found: Mapping[tuple[str, int], Taken], era: str) -> list[Figure]:
    rows: list[Figure] = []
    for (name, callers), taken in found.items():
        passing = found["pass-through proxy", callers]
        target, met = "", None
        if name == "Remit":
            added = taken.p50 - passing.p50
            peers = [one for (peer, number), one in found.items() if number == callers and peer in ("FastMCP's proxy", "ContextForge")]
            target = f"at most {words(ADDED)} over the pass-through proxy (is {_signed(added)}), and faster than its peers"
            met = added <= ADDED and all(taken.p50 < one.p50 and taken.rate > one.rate for one in peers)
        rows.append(
            Figure(
                name=f"{name}, {callers} caller{'s' if callers > 1 else ''}, {era}",
                measured=f"p50 {words(taken.p50)}, p99 {words(taken.p99)}, {taken.rate:,.0f} calls/s, {words(taken.cpu)} of CPU each",
                target=target,
                met=met,
                how=_HOW[name],
            )
        )
    return rows


_HOW = {
    "direct": "the server itself",
    "pass-through proxy": "a server and a client of the `mcp` SDK, one connection to the server, nothing between",
    "FastMCP's proxy": f"`fastmcp run URL` {FASTMCP}, as it comes",
    "Remit": "`remit serve --http`: the rules of each call, its decision on the disk before it, its end written after it",
    "Remit, policy and audit off": "no server to be had: Remit's own parts, put together here with a gate that neither judges nor writes",
    "ContextForge": f"`mcpgateway` {CONTEXTFORGE} on SQLite, without sign-in, limits of rates and pages",
}


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else ''}{words(abs(seconds))}"


# ---- the measurement ----------------------------------------------------------------------------


async def _measured(targets: Sequence[Target], era: str) -> dict[tuple[str, int], Taken]:
    found: dict[tuple[str, int], Taken] = {}
    process = {one.name: one.process for one in targets}
    for number in CALLERS:
        spent = dict.fromkeys(process, 0.0)
        crowds = {one.name: [Caller(url=one.url, tool=one.tool, era=era) for _ in range(number)] for one in targets}
        rates: dict[str, list[float]] = {name: [] for name in crowds}
        for round_ in range(ROUNDS + 1):
            for name, callers in crowds.items():
                before = spent_by(process[name])
                rate = await _round(callers)
                if round_:
                    rates[name].append(rate)
                    spent[name] += spent_by(process[name]) - before
                else:
                    for caller in callers:
                        caller.took.clear()
        for name, callers in crowds.items():
            took = sorted(each for caller in callers for each in caller.took)
            found[name, number] = Taken(
                rate=statistics.median(rates[name]),
                p50=statistics.median(took),
                p99=took[len(took) * 99 // 100],
                cpu=spent[name] / len(took),
            )
            for caller in callers:
                caller.close()
    return found


async def _round(callers: Sequence[Caller]) -> float:
    """Calls a second."""
    for _ in range(2):  # the first time they open a session, which may take them longer than a server keeps a silent connection
        await asyncio.gather(*(caller.connect() for caller in callers))
    begun, before = time.perf_counter(), sum(len(caller.took) for caller in callers)

    async def calls(caller: Caller) -> None:
        while time.perf_counter() - begun < SECONDS:
            await caller.call()

    await asyncio.gather(*map(calls, callers))
    return (sum(len(caller.took) for caller in callers) - before) / (time.perf_counter() - begun)


# ---- what is measured ---------------------------------------------------------------------------


def _targets(made: Ground, stack: ExitStack) -> list[Target]:
    def start(name: str, *command: str, environment: Mapping[str, str] | None = None) -> int:
        return stack.enter_context(_process(name, made, command, environment or {}))

    ports = [_free_port() for _ in range(6)]
    behind, passing, fast, own, forge, bare = (f"http://127.0.0.1:{port}/mcp" for port in ports)
    direct_id = start("fixture", sys.executable, "-m", "benchmarks.peers.fixture", str(ports[0]))
    _listens(ports[0])
    passing_id = start("passing", sys.executable, "-m", "benchmarks.peers.fixture", str(ports[1]), behind)
    run = ("run", behind, "--transport", "http", "--port", str(ports[2]), "--no-banner", "--log-level", "ERROR")
    fast_id = start("fastmcp", str(BUILD / "fastmcp" / "bin" / "fastmcp"), *run)
    settings = {"mcpServers": {"play": {"url": behind, "shareable": True}}, "permission": RULES}
    apart = stack.enter_context(ground())
    for place in (made, apart):
        (place.folder / "config" / "settings.yaml").write_text(json.dumps(settings))
    serve = ("serve", "--http", f"127.0.0.1:{ports[3]}", "--workspace", str(made.workspace), "--log-level", "error")
    own_id = start("remit", sys.executable, "-m", "mcp_server", *serve)
    ungoverned = (sys.executable, "-m", "benchmarks.ungoverned", str(ports[5]), str(apart.workspace))
    bare_id = start("ungoverned", *ungoverned, environment=apart.environment)
    gateway = str(BUILD / "peers" / "contextforge" / "bin" / "mcpgateway")
    forge_id = start("contextforge", gateway, "--port", str(ports[4]), environment=_forge(made, ports[4]))
    for port in ports:
        _listens(port)
    _registered(f"http://127.0.0.1:{ports[4]}", behind)
    return [
        Target(name="direct", url=behind, tool="say", process=direct_id),
        Target(name="pass-through proxy", url=passing, tool="say", process=passing_id),
        Target(name="FastMCP's proxy", url=fast, tool="say", process=fast_id),
        Target(name="Remit", url=own, tool="play__say", process=own_id),
        Target(name="Remit, policy and audit off", url=bare, tool="play__say", process=bare_id),
        Target(name="ContextForge", url=f"{forge}/", tool="play-say", process=forge_id, eras=ERAS[:1]),
    ]


def _forge(made: Ground, port: int) -> dict[str, str]:
    """Its settings: a server on this machine may stand behind it, nobody signs in, nothing limits how often it is called."""
    return {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "DATABASE_URL": f"sqlite:///{made.folder}/contextforge.db",
        "AUTH_REQUIRED": "false",
        "ALLOW_UNAUTHENTICATED_ADMIN": "true",
        "JWT_SECRET_KEY": secrets.token_hex(32),
        "AUTH_ENCRYPTION_SECRET": secrets.token_hex(32),
        "PLATFORM_ADMIN_PASSWORD": f"{secrets.token_hex(16)}Aa1!",
        "SSRF_ALLOW_LOCALHOST": "true",
        "RATE_LIMITING_ENABLED": "false",
        "MCPGATEWAY_UI_ENABLED": "false",
        "MCPGATEWAY_ADMIN_API_ENABLED": "false",
        "CACHE_TYPE": "memory",
        "LOG_LEVEL": "ERROR",
    }


@contextmanager
def _process(name: str, made: Ground, command: Sequence[str], environment: Mapping[str, str]) -> Generator[int]:
    with (made.folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - commands from above
            command, cwd=ROOT, env={**made.environment, **environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _listens(port: int) -> None:
    """Wait until somebody takes connections there."""
    for _ in range(int(STARTING / 0.2)):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"nothing listens at port {port}")


def _registered(base: str, behind: str) -> None:
    """Have ContextForge know the server."""
    said = json.dumps({"name": "play", "url": behind, "transport": "STREAMABLEHTTP"}).encode()
    request = Request(f"{base}/gateways", said, {"content-type": "application/json"})  # noqa: S310 - an address on this machine
    with urlopen(request, timeout=60) as answer:  # noqa: S310 - likewise
        known: Any = json.load(answer)
    if not known.get("reachable"):
        raise AssertionError(f"it does not reach the server: {known}")
