"""Profiles drawn for these tests: rules in short, on a machine that is made up or on folders that exist."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_server.policy.chain import Authority, Commons, Member, authority
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.matching import anchor
from mcp_server.policy.values import Action, Mode, Rule
from mcp_server.policy.verdicts import Ruling, SessionId
from mcp_server.sandbox.derive import NOTHING, Approval, profile_for
from mcp_server.sandbox.ground import Ground
from mcp_server.sandbox.looking import Look, Names
from mcp_server.sandbox.profile import Profile

ACTIONS = {"allow": Action.ALLOW, "ask": Action.ASK, "deny": Action.DENY}
WORKSPACE, HOME, TEMPORARY = "/home/ann/work", "/home/ann", "/home/ann/.local/state/remit/outputs/s/tmp"


def rule(text: str, workspace: str = WORKSPACE) -> Rule:
    """`permission pattern action`, and `self` behind it."""
    permission, pattern, action, *scope = text.split()
    made = Rule(permission=permission, pattern=pattern, action=ACTIONS[action], scope="self" if scope else "tree")
    return anchor(made, workspace, HOME)


def rules(*texts: str, workspace: str = WORKSPACE) -> tuple[Rule, ...]:
    return tuple(rule(text, workspace) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Who asks, and what there is."""

    chain: Sequence[tuple[Rule, ...]]
    """Each session's own rules, root first."""
    mode: Mode | None = None
    person: tuple[Rule, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    files: tuple[str, ...] = ()
    """What `look` finds, if it is asked for it."""
    guard: bool = True
    may_ask: bool = True
    workspace: str = WORKSPACE
    approval: Approval = NOTHING
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/bin:/bin", "HOME": HOME})

    def authority(self) -> Authority:
        members = tuple(
            Member(session_id=SessionId(f"s{n}"), agent=f"agent{n}", rules=own, mode=self.mode if n == 0 else None, may_ask=self.may_ask)
            for n, own in enumerate(self.chain)
        )
        guard = guard_rules(self.workspace, HOME, f"{HOME}/.local/state/remit", [f"{HOME}/.config/remit"]) if self.guard else ()
        return authority(members, Commons(workspace=self.workspace, guard=guard, person=self.person), self.rulings)

    def profile(self) -> Profile:
        ground = Ground(
            workspace=self.workspace,
            home=HOME,
            shown=("/usr", "/etc", "/bin", f"{HOME}/.cargo"),
            secrets=(f"{HOME}/.ssh", f"{HOME}/.local/state/remit", f"{HOME}/.config/remit", "/etc/shadow"),
        )
        return profile_for(
            self.authority(), ground, look=self._look(), temporary=TEMPORARY, environment=self.environment, approval=self.approval
        )

    def _look(self) -> Look:
        def look(folder: str, names: Names) -> list[str]:
            return [path for path in self.files if path.startswith(f"{folder}/") and _met(path, names)]

        return look


def _met(path: str, names: Names) -> bool:
    name = Path(path).name
    return (
        name in names.exact
        or name.startswith(tuple(names.heads))
        or name.endswith(tuple(names.tails))
        or any(test(path) for test in names.others)
    )


def scene(*own: str, **more: object) -> Scene:
    """One session with these rules."""
    return Scene(chain=(rules(*own),), **more)  # pyright: ignore[reportArgumentType] - named as Scene names them


def paths(places: Sequence[object]) -> list[str]:
    return [str(getattr(place, "path", "")) for place in places]
