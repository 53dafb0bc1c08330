"""Two servers as clients start them, over standard input and output: Remit with audit on, and the smallest one on the bare SDK."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks.ground import Ground, ground
from benchmarks.measuring import Figure, Spread, spread, words

READS, WARM = 400, 20
STARTS = 12

GOVERNED, COLD = 1.25, 1.2
"""Times the bare server's."""

_TICKS = os.sysconf("SC_CLK_TCK")


def _server(made: Ground, *arguments: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", *arguments], env=made.environment, cwd=Path(__file__).parents[1])


def _bare(made: Ground) -> StdioServerParameters:
    return _server(made, "benchmarks.peers.bare", str(made.workspace))


def _remit(made: Ground) -> StdioServerParameters:
    return _server(made, "mcp_server", "serve", "--workspace", str(made.workspace), "--log-level", "error")


def figures() -> list[Figure]:
    """A governed read, and a cold start."""
    with ground() as made:
        return [*anyio.run(_reads, made), *anyio.run(_starts, made)]


async def _reads(made: Ground) -> list[Figure]:
    async with Client(_bare(made)) as bare, Client(_remit(made)) as remit:
        clients = {"bare": bare, "remit": remit}
        owners = _owners({"benchmarks.peers.bare": "bare", "mcp_server": "remit"})
        trips: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(WARM):
            for client in clients.values():
                await _read(client)
        before = {name: spent_by(pid) for name, pid in owners.items()}
        for _ in range(READS):
            for name, client in clients.items():
                begun = time.perf_counter()
                await _read(client)
                trips[name].append(time.perf_counter() - begun)
        spent = {name: (spent_by(pid) - before[name]) / READS for name, pid in owners.items()}
    trip = {name: spread(taken) for name, taken in trips.items()}
    ratio = trip["remit"].p50 / trip["bare"].p50
    how = "the same file of 40 lines by turns, from the client's request to its result"
    return [
        Figure(
            name="governed `read`, there and back",
            measured=f"{ratio:.2f} times the bare server's ({_beside(trip['remit'], trip['bare'])})",
            target=f"at most {GOVERNED} times",
            met=ratio <= GOVERNED,
            how=how,
        ),
        Figure(
            name="governed `read`, the server's CPU",
            measured=f"{spent['remit'] / spent['bare']:.2f} times ({words(spent['remit'])} against {words(spent['bare'])})",
            target="",
            met=None,
            how="the same calls, counted by the kernel for each server",
        ),
    ]


async def _read(client: Client) -> None:
    result = await client.call_tool("read", {"filePath": "small.txt"})
    if result.is_error:
        raise AssertionError(f"the file was not read: {result.content}")


async def _starts(made: Ground) -> list[Figure]:
    servers: Mapping[str, Callable[[Ground], StdioServerParameters]] = {"bare": _bare, "remit": _remit}
    wall: dict[str, list[float]] = {name: [] for name in servers}
    cpu: dict[str, list[float]] = {name: [] for name in servers}
    for round_ in range(STARTS + 1):
        for name, server in servers.items():
            begun, spent = time.perf_counter(), _of_children()
            async with Client(server(made)) as client:
                await client.list_tools()
                taken = time.perf_counter() - begun
            if round_:
                wall[name].append(taken)
                cpu[name].append(_of_children() - spent)
    own, bare = spread(cpu["remit"]), spread(cpu["bare"])
    clock = spread(wall["remit"]).p50 / spread(wall["bare"]).p50
    ratio = own.p50 / bare.p50
    return [
        Figure(
            name="cold start to `tools/list`",
            measured=f"{ratio:.2f} times the bare server's CPU ({_beside(own, bare)}); {clock:.2f} times by the clock",
            target=f"at most {COLD} times",
            met=ratio <= COLD,
            how="a new process, connected, its tools listed, and ended",
        )
    ]


def _beside(own: Spread, peer: Spread) -> str:
    return f"{words(own.p50)} against {words(peer.p50)}; least {words(own.least)} against {words(peer.least)}"


def _of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _owners(modules: Mapping[str, str]) -> dict[str, int]:
    """The process ids of our children, by the module that each runs."""
    found: dict[str, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _parent(folder) == os.getpid():
            arguments = (folder / "cmdline").read_bytes().decode().split("\0")
            found |= {name: int(folder.name) for module, name in modules.items() if module in arguments}
    return found


def _stat(folder: Path) -> list[str]:
    try:
        return (folder / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:  # gone meanwhile
        return ["", "0"]


def _parent(folder: Path) -> int:
    return int(_stat(folder)[1])


def spent_by(pid: int) -> float:
    """Seconds of CPU that this process has taken so far."""
    fields = _stat(Path("/proc") / str(pid))
    return (int(fields[11]) + int(fields[12])) / _TICKS
