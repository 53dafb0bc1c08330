"""How much longer a sandboxed command takes than a plain one, the drawing of its profile included.

    python -m benchmarks.sandbox [files ...]

Each back end in turn, over and over, so that a busy machine is busy for all of them. Times in milliseconds.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

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

ROUNDS = 60
"""Enough for a steady median within half a minute."""

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
        (folder / f"file{number}.py").touch()


def _bench(folder: Path, workspace: Path, kind: str) -> _Bench:
    environment = {"PATH": os.environ["PATH"], "HOME": str(Path.home()), "LANG": "C.UTF-8"}
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


async def _once(backend: Backend, profile: Callable[[], Profile], cwd: str) -> float:
    started = time.perf_counter()
    done = await run(backend, profile(), [*BASH, ":"], cwd=cwd, seconds=60, take=_ignore, beat=_quiet)
    took = (time.perf_counter() - started) * 1000
    if done.code != 0:
        raise SystemExit(f"{backend.name} failed: {done}")
    return took


async def _plain(cwd: str, environment: dict[str, str]) -> float:
    """The shell alone, with nothing looked for or ended afterwards."""
    started = time.perf_counter()
    await anyio.run_process([*BASH, ":"], cwd=cwd, env=environment)
    return (time.perf_counter() - started) * 1000


def _ignore(_data: bytes) -> None:
    pass


async def _quiet(_seconds: float) -> None:
    pass


async def _measure(bench: _Bench, backends: Sequence[Backend]) -> dict[str, list[float]]:
    cwd = str(bench.workspace)
    times: dict[str, list[float]] = {"plain": [], "profile": [], **{backend.name: [] for backend in backends}}
    for _ in range(ROUNDS):
        times["plain"].append(await _plain(cwd, bench.environment))
        started = time.perf_counter()
        bench.profile()
        times["profile"].append((time.perf_counter() - started) * 1000)
        for backend in backends:
            times[backend.name].append(await _once(backend, bench.profile, cwd))
    return times


def main(counts: Sequence[int]) -> None:
    """Measure and print a line each."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name).resolve()
        backends, absent = candidates(Placeholders(folder / "placeholders"))
        for line in absent:
            print(line)  # noqa: T201 - what it is for
        for files in counts:
            workspace = folder / f"work{files}"
            _fill(workspace, files)
            for kind in KINDS:
                times = anyio.run(partial(_measure, _bench(folder, workspace, kind), backends))
                _tell(files, kind, times)


def _tell(files: int, kind: str, times: dict[str, list[float]]) -> None:
    plain = times.pop("plain")
    print(f"{files:>6} files, {kind}: plain {statistics.median(plain):.1f} (best {min(plain):.1f})")  # noqa: T201 - what it is for
    profile = times.pop("profile")
    print(f"         of which the profile: {statistics.median(profile):.1f} (best {min(profile):.1f})")  # noqa: T201 - what it is for
    for name, took in times.items():
        more, best = statistics.median(took) - statistics.median(plain), min(took) - min(plain)
        print(f"         {name}: +{more:.1f} (best against best +{best:.1f})")  # noqa: T201 - what it is for


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [1_000, 55_000])
