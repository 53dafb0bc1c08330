"""From a written case to what policy decides on: chain, shared layers, rulings, requests. No files."""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mcp_server.cli.cases.rule_text import read_rule
from mcp_server.cli.cases.written import DecisionCase, SpawnCase, WrittenLayer, WrittenMember, WrittenRequest, WrittenRuling
from mcp_server.policy.chain import MANAGED_OWNER, PERSON_OWNER, PROJECT_OWNER, Commons, Member, agent_owner
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.matching import PATH_PERMISSIONS, anchor
from mcp_server.policy.rulings import SILENCE, name_of
from mcp_server.policy.values import Action, AskRef, CommandValue, PathValue, PlainValue, Request, Rule, SpawnValue, Value
from mcp_server.policy.verdicts import Ruling, RulingId, SessionId
from mcp_server.policy.widening import widening

WORKSPACE = "/srv/cases/workspace"
"""Where a case without real files takes place. Nothing is read from it."""

HOME = "/home/person"
STATE = f"{HOME}/.local/state/remit"

PERSON_SOURCES = ("user", "local", "cli")
"""The one person layer, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that one decision takes."""

    chain: tuple[Member, ...]
    commons: Commons
    rulings: tuple[Ruling, ...]
    requests: tuple[Request, ...]


MemberOf = Callable[[str], Member]
"""The session that an agent of this name would get."""


def decision_scene(case: DecisionCase) -> Scene:
    """One session, named after the source of its rules."""
    own = _rules(layer for layer in case.layers if layer.source == "agent")
    session = Member(session_id=SessionId("session"), agent="agent", rules=own, mode=case.mode)
    commons = _commons(case.layers, guard=case.guard)
    made = _rulings(case.rulings, session.session_id, _everything_that_asks((session,), commons, case.asked), (session,))
    return Scene(chain=(session,), commons=commons, rulings=made, requests=_asked(case, (session,), commons))


def spawn_scene(case: SpawnCase) -> Scene:
    """A chain, as seen by the one that asks."""
    commons = _commons(case.layers, guard=case.guard, primary_tools=case.primary_tools)
    whole = tuple(_member(place, written, case) for place, written in enumerate(case.chain))
    last = len(whole) if case.asker is None else 1 + next(i for i, member in enumerate(whole) if member.agent == case.asker)
    asking = _everything_that_asks(whole, commons, case.asked)
    made = tuple(
        ruling
        for member, written in zip(whole, case.chain, strict=True)
        for ruling in _rulings(written.rulings, member.session_id, asking, whole)
    )
    return Scene(chain=whole[:last], commons=commons, rulings=made, requests=_asked(case, whole[:last], commons))


def requests_of(
    asked: Sequence[WrittenRequest], chain: tuple[Member, ...], commons: Commons, child: MemberOf, workspace: str = WORKSPACE
) -> tuple[Request, ...]:
    """The requests, a spawn with what it would widen."""

    def value(permission: str, text: str) -> Value:
        if permission in PATH_PERMISSIONS:
            return path_value(text, workspace)
        if permission == "bash":
            return CommandValue(text=text, effects_known=True)
        if permission == "task":
            return SpawnValue(text=text, widening=widening(chain, child(text), commons))
        return PlainValue(text=text)

    return tuple(Request(permission=each.permission, values=tuple(value(each.permission, text) for text in each.values)) for each in asked)


def path_value(text: str, workspace: str = WORKSPACE) -> PathValue:
    """A path that has no links in it."""
    whole = posixpath.normpath(posixpath.join(workspace, text))
    inside = whole == workspace or whole.startswith(f"{workspace.rstrip('/')}/")
    return PathValue(resolved=whole, relative=posixpath.relpath(whole, workspace) if inside else None, unresolved=whole)


def _asked(case: DecisionCase | SpawnCase, chain: tuple[Member, ...], commons: Commons) -> tuple[Request, ...]:
    def child(name: str) -> Member:
        agent = case.agents.get(name)
        return Member(session_id=SessionId("child"), agent=name, rules=() if agent is None else anchored(agent.rules))

    return requests_of(case.asked, chain, commons, child)


def _member(place: int, written: WrittenMember, case: SpawnCase) -> Member:
    return Member(
        session_id=SessionId(f"session {place}"),
        agent=written.agent,
        rules=anchored(written.rules),
        mode=case.mode if place == 0 and written.mode is None else written.mode,
        may_ask=written.prompts == "bubble",
        narrowed=written.tools,
    )


def anchored(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Rules as a loader would hand them on."""
    return tuple(anchor(read_rule(text), WORKSPACE, HOME) for text in texts)


def _rules(layers: Iterable[WrittenLayer]) -> tuple[Rule, ...]:
    return anchored(text for layer in layers for text in layer.rules)


def _commons(layers: Sequence[WrittenLayer], *, guard: bool, primary_tools: tuple[str, ...] = ()) -> Commons:
    project = [layer for layer in layers if layer.source == "project"]
    return Commons(
        workspace=WORKSPACE,
        managed=_rules(layer for layer in layers if layer.source == "managed"),
        person=_rules(layer for source in PERSON_SOURCES for layer in layers if layer.source == source),
        project=_rules(project),
        project_trusted=all(layer.trusted for layer in project),
        guard=guard_rules(WORKSPACE, HOME, STATE) if guard else (),
        primary_tools=primary_tools,
    )


# ---- rulings ------------------------------------------------------------------------------------


def _everything_that_asks(chain: tuple[Member, ...], commons: Commons, asked: Sequence[WrittenRequest]) -> tuple[AskRef, ...]:
    """Silence, and every asking rule but the guard's."""
    lists = (
        (MANAGED_OWNER, commons.managed),
        (PERSON_OWNER, commons.person),
        (PROJECT_OWNER, commons.project),
        *((agent_owner(member), member.rules) for member in chain),
    )
    silence = tuple(AskRef(owner=SILENCE, rule=request.permission) for request in asked)
    return (*silence, *(AskRef(owner=owner, rule=name_of(rule)) for owner, rules in lists for rule in rules if rule.action is Action.ASK))


def _rulings(
    written: Sequence[WrittenRuling], session_id: SessionId, asking: tuple[AskRef, ...], chain: tuple[Member, ...]
) -> tuple[Ruling, ...]:
    return tuple(
        Ruling(
            id=RulingId(f"{session_id} ruling {number}"),
            session_id=session_id,
            reach=each.reach,
            rule=anchor(read_rule(each.rule), WORKSPACE, HOME),
            answers=asking if each.answers is None else tuple(_ask_ref(text, chain) for text in each.answers),
        )
        for number, each in enumerate(written, 1)
    )


def _ask_ref(text: str, chain: tuple[Member, ...]) -> AskRef:
    """`source: permission 'pattern' action`, or `silence: permission`; a source is a layer's or an agent's name."""
    source, _, rest = text.partition(": ")
    if source == SILENCE:
        return AskRef(owner=SILENCE, rule=rest)
    owners = {"managed": MANAGED_OWNER, "project": PROJECT_OWNER, **dict.fromkeys(PERSON_SOURCES, PERSON_OWNER)}
    owners.update({member.agent: agent_owner(member) for member in chain})
    return AskRef(owner=owners.get(source, source), rule=name_of(read_rule(rest)))
