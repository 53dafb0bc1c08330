"""From a chain of sessions to the authority that its last one has.

Nothing is copied from one session's list into another's: an ancestor is heard as a whole layer, evaluated, live.
"""

from dataclasses import dataclass
from functools import lru_cache

from mcp_server.policy import derived
from mcp_server.policy.layers import Held
from mcp_server.policy.values import MODES_STRICTEST_FIRST, Action, Layer, LayerKind, Mode, Reach, Rule
from mcp_server.policy.verdicts import Ruling, SessionId

MANAGED_OWNER = "managed settings"
PERSON_OWNER = "user settings"
PROJECT_OWNER = "project settings"
STARTED_OWNER = "the command line that this session was started with"
GUARD_OWNER = "built-in guard"
RULED_OWNER = "the person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One session of a chain, as policy sees it."""

    session_id: SessionId
    agent: str
    rules: tuple[Rule, ...]
    """Its own definition's permission, then the person's `agents.<name>.permission`."""
    person: tuple[Rule, ...] = ()
    """The person's `agents.<name>.permission`, which also ends the person layer."""
    managed: tuple[Rule, ...] = ()
    """The operator's `agents.<name>.permission`, which also ends the managed layer."""
    mode: Mode | None = None
    """What it asks for; None: its parent's."""
    may_ask: bool = True
    """False: `prompts: deny`; what would ask is denied."""
    narrowed: tuple[str, ...] | None = None
    """The tools that `task(tools=[...])` left it; None: not narrowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commons:
    """What every session of a server shares: the layers that do not depend on the agent."""

    workspace: str
    """Absolute, resolved."""
    managed: tuple[Rule, ...] = ()
    person: tuple[Rule, ...] = ()
    """User settings, then local settings, then the command line, in this order."""
    started_with: tuple[Rule, ...] = ()
    """What another command line denied or asked when the tree was started: a run that goes on under a new server loses nothing of it."""
    project: tuple[Rule, ...] = ()
    project_trusted: bool = False
    guard: tuple[Rule, ...] = ()
    foreign: tuple[Rule, ...] = ()
    """What the guard says of files that were kept for others: nothing where all sessions are one person's."""
    primary_tools: tuple[str, ...] = ()
    max_mode: Mode | None = None
    granted_tools: tuple[str, ...] | None = None
    """All that the operator gives this caller; None: whatever there is."""
    granted_agents: tuple[str, ...] | None = None
    """Likewise those that may be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """All that one decision reads. Made afresh for each, never kept."""

    layers: tuple[Layer, ...]
    """Those that hold a rule; the others have nothing to say."""
    mode: Mode
    may_ask: bool
    rulings: tuple[Ruling, ...]
    """The allow rulings that can reach this session. Denials are a layer."""


def authority(chain: tuple[Member, ...], commons: Commons, rulings: tuple[Ruling, ...] = ()) -> Authority:
    """The authority of the chain's last session. `chain` is root first and not empty."""
    *ancestors, own = chain
    layers = (
        *_shared(own, commons),
        _layer(LayerKind.AGENT, agent_owner(own), own.rules),
        *(layer for member in ancestors for layer in _ceilings(member, commons, child=member is not chain[0])),
        *_derived(LayerKind.DERIVED, own, commons, child=bool(ancestors)),
        *_ruled(chain, rulings),
    )
    return Authority(
        layers=tuple(layer for layer in layers if layer.rules),
        mode=effective_mode(chain, commons.max_mode),
        # A session that must not be disturbed keeps its descendants from disturbing through it.
        may_ask=all(member.may_ask for member in chain),
        rulings=tuple(each for each in rulings if _reaches(each, chain)),
    )


def effective_mode(chain: tuple[Member, ...], max_mode: Mode | None = None) -> Mode:
    """Root first: each the stricter of its parent's and its own; unset is the parent's, a root's `default`."""
    asked = [member.mode for member in chain if member.mode is not None]
    root = [Mode.DEFAULT] if chain[0].mode is None else []
    return stricter(*root, *asked, *([] if max_mode is None else [max_mode]))


def stricter(*modes: Mode) -> Mode:
    """The strictest of them."""
    return min(modes, key=MODES_STRICTEST_FIRST.index)


def agent_owner(member: Member) -> str:
    """`Layer.owner` of an agent's rules: the same where they are its own layer and where they are a ceiling."""
    return f"agent {member.agent}"


def _layer(kind: LayerKind, owner: str, rules: tuple[Rule, ...], *, may_allow: bool = True, lends_folders: bool = False) -> Layer:
    return _kept(kind, owner, Held(rules), may_allow, lends_folders)


@lru_cache(maxsize=1024)
def _kept(kind: LayerKind, owner: str, held: Held, may_allow: bool, lends_folders: bool) -> Layer:
    """The same layer of the same rules, so that what is compiled of it is compiled once."""
    return Layer(kind=kind, owner=owner, rules=held.rules, may_allow=may_allow, lends_folders=lends_folders)


def _shared(own: Member, commons: Commons) -> tuple[Layer, ...]:
    return (
        _layer(LayerKind.MANAGED, MANAGED_OWNER, derived.joined(commons.managed, own.managed)),
        *(_layer(LayerKind.MANAGED, MANAGED_OWNER, rules, may_allow=False) for rules in _not_granted(commons)),
        _layer(LayerKind.PERSON, PERSON_OWNER, derived.joined(commons.person, own.person)),
        _layer(LayerKind.PERSON, STARTED_OWNER, commons.started_with, may_allow=False),
        _layer(LayerKind.PROJECT, PROJECT_OWNER, commons.project, may_allow=commons.project_trusted),
        _layer(LayerKind.GUARD, GUARD_OWNER, commons.guard, may_allow=False),
        _layer(LayerKind.GUARD, GUARD_OWNER, commons.foreign, may_allow=False),
    )


def _not_granted(commons: Commons) -> tuple[tuple[Rule, ...], ...]:
    """What the operator does not give this caller, as rules that deny it. Their allows say only what they do not deny."""
    lists: list[tuple[Rule, ...]] = []
    if commons.granted_tools is not None:
        lists.append(derived.left_over(commons.granted_tools, "it is not among the tools that you are given here"))
    if commons.granted_agents is not None:
        lists.append(derived.agents_only(commons.granted_agents, "it is not among the agents that you are given here"))
    return tuple(lists)


def _ceilings(member: Member, commons: Commons, *, child: bool) -> tuple[Layer, ...]:
    """An ancestor's agent layer and derived layer. What the operator forbids its agent is no less a limit of its subtree."""
    managed = (_layer(LayerKind.CEILING, MANAGED_OWNER, member.managed, may_allow=False),) if member.managed else ()
    return (
        _layer(LayerKind.CEILING, agent_owner(member), member.rules, may_allow=False, lends_folders=True),
        *managed,
        *_derived(LayerKind.CEILING, member, commons, child=child),
    )


def _derived(kind: LayerKind, member: Member, commons: Commons, *, child: bool) -> tuple[Layer, ...]:
    lists: list[tuple[Rule, ...]] = []
    if child:
        lists += [derived.named(Held(member.rules)), derived.primary_only(commons.primary_tools)]
    if member.narrowed is not None:
        lists.append(derived.left_over(member.narrowed))
    owner = f"limits of {member.agent} as a subagent" if child else f"limits that {member.agent} was started with"
    return tuple(_layer(kind, owner, rules, may_allow=False) for rules in lists)


def _ruled(chain: tuple[Member, ...], rulings: tuple[Ruling, ...]) -> tuple[Layer, ...]:
    members = {member.session_id for member in chain}
    denied = tuple(each.rule for each in rulings if each.rule.action is Action.DENY and each.session_id in members)
    return (Layer(kind=LayerKind.RULED, owner=RULED_OWNER, rules=denied, may_allow=False),) if denied else ()


def _reaches(ruling: Ruling, chain: tuple[Member, ...]) -> bool:
    if ruling.rule.action is not Action.ALLOW:
        return False
    if ruling.reach is Reach.TREE:
        return any(member.session_id == ruling.session_id for member in chain)
    return ruling.session_id == chain[-1].session_id
