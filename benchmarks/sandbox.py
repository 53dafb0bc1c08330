"""How much longer a sandboxed command takes than a plain one, the drawing of its profile included, and a search in it.

Each back end in turn, over and over, so that a busy machine is busy for all of them.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.measuring import Figure, Spread, spread, words
from mcp_server.policy.chain import Authority, Commons, Member, authority
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, Rule
from mcp_server.policy.verdicts import SessionId
from mcp_server.sandbox.backend import Backend
from mcp_server.sandbox.choice import candidates
from mcp_server.sandbox.derive import profile_for
from mcp_server.sandbox.ground import Ground, look_around
from mcp_server.sandbox.looking import look
from mcp_server.sandbox.placeholders import Placeholders
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.running import run
from mcp_server.settings.places import Places
from mcp_server.tools.ripgrep import binary

ROUNDS = 60
"""Enough for a steady median within half a minute."""

FEW, MANY = 1_000, 55_000
"""Files of a small and of a large workspace."""

TARGET = 0.008
SEARCH_TARGET = 1.3

SEARCH = "rg --no-config --count-matches act . > /dev/null"

TEXT = "def act(value):\n    return value + 1\n\n\n" * 12
"""Half a kilobyte, as short sources have."""

BASH = ("/bin/bash", "--noprofile", "--norc", "-c")

KINDS = {
    "read-only": (("*", Action.DENY), ("read", Action.ALLOW)),
    "writing": (("edit", Action.ALLOW),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    workspace: Path
    temporary: Path
    ground: Ground
    authority: Authority
    environment: dict[str, str]

    def profile(self) -> Profile:
        return profile_for(self.authority, self.ground, look=look, temporary=str(self.temporary), environment=self.environment)


def _fill(workspace: Path, files: int) -> None:
    for number in range(files):
        folder = workspace / f"part{number // 400}" / f"piece{number // 20}"
        if number % 20 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.py").write_text(TEXT)


def _bench(folder: Path, workspace: Path, kind: str) -> _Bench:
    programs = os.pathsep.join((os.path.dirname(binary()), os.environ["PATH"]))
    environment = {"PATH": programs, "HOME": str(Path.home()), "LANG": "C.UTF-8"}
    places = Places(home=Path.home(), config=folder / "config", state=folder / "state", cache=folder / "cache", managed=Path("/etc/remit"))
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    rules = tuple(Rule(permission=permission, pattern="*", action=action) for permission, action in KINDS[kind])
    commons = Commons(workspace=str(workspace), guard=guard_rules(str(workspace), str(Path.home()), str(folder / "state")))
    return _Bench(
        workspace=workspace,
        temporary=temporary,
        ground=look_around(str(workspace), places, environment),
        authority=authority((Member(session_id=SessionId("s"), agent="build", rules=rules),), commons),
        environment=environment,
    )


async def _once(backend: Backend, profile: Callable[[], Profile], cwd: str, line: str) -> float:
    started = time.perf_counter()
    done = await run(backend, profile(), [*BASH, line], cwd=cwd, seconds=60, take=_ignore, beat=_quiet)
    took = time.perf_counter() - started
    if done.code != 0:
        raise AssertionError(f"{backend.name} failed: {done}")
    return took


async def _plain(cwd: str, environment: dict[str, str], line: str) -> float:
    """The shell alone, with nothing looked for or ended afterwards."""
    started = time.perf_counter()
    await anyio.run_process([*BASH, line], cwd=cwd, env=environment)
    return time.perf_counter() - started


def _ignore(_data: bytes) -> None:
    pass


async def _quiet(_seconds: float) -> None:
    pass


async def _measure(bench: _Bench, backends: Sequence[Backend], line: str, rounds: int) -> dict[str, Spread]:
    cwd = str(bench.workspace)
    times: dict[str, list[float]] = {"plain": [], "profile": [], **{backend.name: [] for backend in backends}}
    for _ in range(rounds):
        times["plain"].append(await _plain(cwd, bench.environment, line))
        started = time.perf_counter()
        bench.profile()
        times["profile"].append(time.perf_counter() - started)
        for backend in backends:
            times[backend.name].append(await _once(backend, bench.profile, cwd, line))
    return {name: spread(took) for name, took in times.items()}


def figures() -> list[Figure]:
    """Starting a command in workspaces of two sizes, and searching in one."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name).resolve()
        backends, _ = candidates(Placeholders(folder / "placeholders"))
        made: list[Figure] = []
        for files in (FEW, MANY):
            workspace = folder / f"work{files}"
            _fill(workspace, files)
            for kind in KINDS:
                times = anyio.run(
                    partial(_measure, _bench(folder, workspace, kind), backends, ":", ROUNDS if files == FEW else ROUNDS // 4)
                )
                made += [_started(files, kind, backend.name, times) for backend in backends]
        times = anyio.run(partial(_measure, _bench(folder, folder / f"work{MANY}", "read-only"), backends, SEARCH, ROUNDS // 4))
        return [*made, *(_searched(backend.name, times) for backend in backends)]


def _started(files: int, kind: str, name: str, times: Mapping[str, Spread]) -> Figure:
    more, least = times[name].p50 - times["plain"].p50, times[name].least - times["plain"].least
    return Figure(
        name=f"start in {name}, {kind}, {files:,} files",
        measured=f"{words(more)} more than plain ({words(times['plain'].p50)}); least against least {words(least)}; "
        f"of it the profile {words(times['profile'].p50)} (least {words(times['profile'].least)})",
        target="at most 8 ms more" if files == FEW else "",
        met=least <= TARGET if files == FEW else None,
        how="`bash -c :` in a sandbox that was drawn for it, until nothing of it is left, against the shell alone; met by the least",
    )


def _searched(name: str, times: Mapping[str, Spread]) -> Figure:
    ratio = times[name].p50 / times["plain"].p50
    return Figure(
        name=f"ripgrep in {name} over {MANY:,} files",
        measured=f"{ratio:.2f} times plain ({words(times[name].p50)} against {words(times['plain'].p50)})",
        target="at most 1.3 times",
        met=ratio <= SEARCH_TARGET,
        how="the same line, the drawing of the profile included",
    )
