"""The process that runs lines on a stage, as the user that the stage belongs to. Reads what to do from its input, once."""

import ctypes
import importlib
import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio

from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.policy.chain import Authority, Commons, Member, authority
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, Rule
from mcp_server.policy.verdicts import SessionId
from mcp_server.sandbox import kernel
from mcp_server.sandbox.backend import Backend
from mcp_server.sandbox.bubblewrap import Bubblewrap
from mcp_server.sandbox.derive import profile_for
from mcp_server.sandbox.direct import Direct
from mcp_server.sandbox.ground import look_around
from mcp_server.sandbox.landlock import Landlock
from mcp_server.sandbox.looking import look
from mcp_server.sandbox.placeholders import Placeholders
from mcp_server.sandbox.profile import Limits, Profile
from mcp_server.sandbox.running import run
from mcp_server.settings.places import Places
from tests.sandbox.stage import NOBODY, Ran, differences, picture

LIMITS = Limits(file_bytes=64 << 20)
"""The usual ones, but for a file that takes no time to write."""

PRELOADED = tuple(importlib.import_module(name) for name in ("anyio._backends._asyncio", "anyio.to_thread"))
"""Read while the files can still be reached: an ordinary user may not enter the folder that Python lies in."""


def _all(*permissions: str) -> tuple[Rule, ...]:
    return tuple(Rule(permission=permission, pattern="*", action=Action.ALLOW) for permission in permissions)


def _explore() -> tuple[Rule, ...]:
    """The built-in agent's own, read before the user changes."""
    file = Path(__file__).parents[2] / "agent_defs/explore.md"
    read = read_agent(file.read_text(encoding="utf-8"), str(file), where="package", workspace="/")
    assert isinstance(read, AgentFile)
    return read.definition.permission


RULES = {
    "reading": (*_explore(), *_all("bash")),
    "writing": _all("edit", "bash"),
    "network": _all("edit", "bash", "webfetch"),
}


def become(who: str) -> None:
    """Be that user from now on, for good."""
    if who == "user" and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: a process that changed its user may not look at itself


def rules_of(kind: str, workspace: Path, home: Path, state: Path) -> Authority:
    """An agent's authority in the middle of the built-in guard."""
    commons = Commons(workspace=str(workspace), guard=guard_rules(str(workspace), str(home), str(state)))
    return authority((Member(session_id=SessionId("s"), agent="explore", rules=RULES[kind]),), commons)


def backend_named(name: str, folder: Path, state: Path) -> Backend:
    """The real one, with the program that was lent."""
    match name:
        case "bubblewrap":
            (program,) = folder.glob("programs/**/bwrap")
            return Bubblewrap(program=str(program), placeholders=Placeholders(state / "placeholders", linger=0))
        case "landlock":
            return Landlock(version=kernel.landlock_version())
        case _:
            return Direct()


async def _act(asked: dict[str, Any]) -> list[Ran]:
    folder, home = Path(asked["folder"]), Path(asked["folder"]) / "home"
    state = home / ".local/state/remit"
    backend = backend_named(asked["backend"], folder, state)
    places = Places(
        home=home, config=home / ".config/remit", state=state, cache=home / ".cache/remit", managed=Path("/etc/remit"), managed_owner=0
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    limit, done = anyio.Semaphore(asked["together"]), list[Ran]()

    async def one(number: int, line: dict[str, Any]) -> None:
        async with limit:
            run_folder = folder / "runs" / f"{asked['backend']}-{asked['kind']}-{number}"
            workspace, temporary = run_folder / "workspace", run_folder / "temporary"
            temporary.mkdir(parents=True)
            shutil.copytree(folder / "model", workspace, symlinks=True)
            profile = profile_for(
                rules_of(asked["kind"], workspace, home, state),
                look_around(str(workspace), places, environment),
                look=look,
                temporary=str(temporary),
                environment=environment,
                limits=LIMITS,
            )
            done.append(await _run(backend, profile, workspace, line))

    async with anyio.create_task_group() as group:
        for number, line in enumerate(asked["lines"]):
            group.start_soon(one, number, line)
    return done


async def _run(backend: Backend, profile: Profile, workspace: Path, line: dict[str, Any]) -> Ran:
    before, output = picture(workspace), bytearray()

    async def beat(_seconds: float) -> None:
        pass

    argv = ["/bin/bash", "--noprofile", "--norc", "-c", line["run"]]
    finished = await run(backend, profile, argv, cwd=str(workspace), seconds=line["seconds"], take=output.extend, beat=beat)
    text = output.decode("utf-8", "replace")
    return Ran(
        name=line["name"],
        code=finished.code,
        output=text[-4000:],
        ended=finished.ended,
        escaped=finished.escaped,
        changed=differences(before, picture(workspace)),
        cannot_hold=backend.cannot_hold(profile),
    )


def main() -> None:
    """Be the user, act, tell."""
    asked = json.load(sys.stdin)
    become(asked["who"])
    print(json.dumps([asdict(ran) for ran in anyio.run(_act, asked)]))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
