"""Shell cases: a line under an agent's rules, in mode default, where a sandbox holds. Nothing is run, and no file is looked at."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcp_server.cli.cases.scenes import HOME, STATE, WORKSPACE, Scene, anchored
from mcp_server.cli.cases.written import ShellCase
from mcp_server.errors import ToolFailure
from mcp_server.policy.chain import Commons, Member
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import CommandValue, PathValue, Request
from mcp_server.policy.verdicts import SessionId
from mcp_server.tools.bash_asking import Runs, reading_of, requests_of

HELD = Runs(held=lambda: True, own_temporary=lambda: False)
"""`/tmp` is the machine's: a case says the same on every machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """Where a case takes place."""

    workspace: Path = Path(WORKSPACE)
    environment: Mapping[str, str] = field(default_factory=lambda: {"HOME": HOME})
    closings: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """What a line comes to under a case's rules."""

    scene: Scene | None
    """None: the line is refused."""
    refusal: str = ""
    writes: tuple[str, ...] = ()
    opaque: bool = False


def read_case(case: ShellCase) -> ReadLine:
    """The line of a case, read."""
    ground = _Ground()
    try:
        reading = reading_of(_line(case), WORKSPACE, ground)
        requests = requests_of(reading, ground, HELD)
    except ToolFailure as error:
        return ReadLine(scene=None, refusal=str(error))
    session = Member(session_id=SessionId("session"), agent="agent", rules=anchored(case.rules))
    commons = Commons(workspace=WORKSPACE, guard=guard_rules(WORKSPACE, HOME, STATE))
    return ReadLine(
        scene=Scene(chain=(session,), commons=commons, rulings=(), requests=requests),
        writes=tuple(value.text for value in _values(requests, "edit") if isinstance(value, PathValue)),
        opaque=any(isinstance(value, CommandValue) and value.opaque for value in _values(requests, "bash")),
    )


def misses(case: ShellCase, read: ReadLine) -> str:
    """What the case knows of the line and the reading does not; empty: nothing."""
    missed = [path for path in case.writes if not _among(path, read.writes)]
    if missed:
        return f"does not see that it writes {', '.join(missed)}"
    return "takes it for readable" if case.opaque and read.scene is not None and not read.opaque else ""


def _among(path: str, writes: tuple[str, ...]) -> bool:
    return any(posixpath.normpath(path) == posixpath.normpath(write) for write in writes)


def _values(requests: tuple[Request, ...], permission: str) -> list[object]:
    return [value for request in requests if request.permission == permission for value in request.values]


def _line(case: ShellCase) -> str:
    repeat = case.command_repeat
    return case.command or "" if repeat is None else repeat.unit * repeat.times + repeat.end
