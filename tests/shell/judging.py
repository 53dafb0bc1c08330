"""A line judged as a session would have it judged: a real folder, written rules, the built-in guard."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import ToolFailure
from mcp_server.policy.chain import Authority, Commons, authority
from mcp_server.policy.decide import decide, opinions_of
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, PathValue
from mcp_server.policy.verdicts import Verdict
from mcp_server.tools.bash_asking import Runs, reading_of, requests_of
from tests.policy.universe import member

HOME = "/home/person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where lines are judged."""

    workspace: Path
    environment: Mapping[str, str]
    closings: Callable[[str, Sequence[PathValue]], Sequence[frozenset[str]]] | None


def under(texts: Iterable[str], workspace: Path) -> Authority:
    """One agent with these rules, in mode default."""
    commons = Commons(workspace=str(workspace), guard=guard_rules(str(workspace), HOME, f"{HOME}/state"))
    return authority((member(0, *texts),), commons, ())


def judged(line: str, held_by: Authority, workspace: Path, *, held: bool = True) -> Verdict | None:
    """None: the line is refused."""

    def closings(permission: str, paths: Sequence[PathValue]) -> Sequence[frozenset[str]]:
        said = (opinions_of(held_by, permission, path, {}) for path in paths)
        return [frozenset(str(each.rule) for each in one if each.action not in (None, Action.ALLOW)) for one in said]

    ground = Ground(workspace=workspace, environment={"HOME": HOME}, closings=closings)
    try:
        reading = reading_of(line, str(workspace), ground)
        return decide(held_by, requests_of(reading, ground, Runs(held=lambda: held, own_temporary=lambda: False)))
    except ToolFailure:
        return None


def action_of(line: str, held_by: Authority, workspace: Path, *, held: bool = True) -> Action:
    """A refusal is as good as a deny."""
    verdict = judged(line, held_by, workspace, held=held)
    return Action.DENY if verdict is None else verdict.action
