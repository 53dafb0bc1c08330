"""A universe small enough to walk whole, and how its words read.

A session's agent layer matters to a decision in two ways only: what it says in its own session, and what it says as a ceiling.
`AGENTS` has every answer in both places; `test_layers` walks the lists of rules that give them.
"""

from collections.abc import Iterable, Sequence
from itertools import product

from mcp_server.policy.chain import Authority, Commons, Member, agent_owner, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.matching import anchor
from mcp_server.policy.values import Action, AskRef, CommandValue, Mode, PathValue, Reach, Request, Rule, Value
from mcp_server.policy.verdicts import Ruling, RulingId, SessionId, Verdict

WORKSPACE = "/ws"
HOME = "/home/person"
BARE = Commons(workspace=WORKSPACE)
"""Nothing shared, no guard."""


def rule(text: str) -> Rule:
    """`permission pattern action [self] [opaque]`; the pattern may hold spaces."""
    words = text.split(" ")
    marks: list[str] = []
    while words[-1] in ("self", "opaque"):
        marks.append(words.pop())
    made = Rule(
        permission=words[0],
        pattern=" ".join(words[1:-1]),
        action=Action[words[-1].upper()],
        scope="self" if "self" in marks else "tree",
        opaque="opaque" in marks,
    )
    return anchor(made, WORKSPACE, HOME)


def rules(*texts: str) -> tuple[Rule, ...]:
    return tuple(map(rule, texts))


def path(text: str, *, unresolved: str | None = None, ignore_case: bool = False) -> PathValue:
    """A path of the workspace, or outside it where it has a root."""

    def whole(name: str) -> str:
        return name if name.startswith("/") else f"{WORKSPACE}/{name}"

    resolved = whole(text)
    relative = resolved.removeprefix(f"{WORKSPACE}/") if resolved.startswith(f"{WORKSPACE}/") else None
    return PathValue(resolved=resolved, relative=relative, unresolved=whole(unresolved or text), ignore_case=ignore_case)


def command(text: str, *forms: str, opaque: bool = False, effects_known: bool = True, read_only: bool = False) -> CommandValue:
    return CommandValue(text=text, forms=forms, opaque=opaque, effects_known=effects_known, read_only=read_only)


def asks_for(permission: str, *values: Value) -> tuple[Request, ...]:
    return (Request(permission=permission, values=values),)


TARGET = asks_for("edit", path("src/a.py"))
"""What is asked throughout the small universe: neither read-only nor allowed at silence but by the two loosest modes."""


def member(place: int, *texts: str, mode: Mode | None = None, may_ask: bool = True, agent: str | None = None) -> Member:
    """A session of a chain. Agents have different names unless one is given."""
    return Member(session_id=SessionId(f"s{place}"), agent=agent or f"agent{place}", rules=rules(*texts), mode=mode, may_ask=may_ask)


def verdict_of(
    chain: Sequence[Member], requests: Sequence[Request] = TARGET, commons: Commons = BARE, rulings: Iterable[Ruling] = ()
) -> Verdict:
    return decide(authority(tuple(chain), commons, tuple(rulings)), requests, "digest")


# ---- the small universe -------------------------------------------------------------------------

AGENTS: dict[str, tuple[Rule, ...]] = {
    "silent": rules("edit other/* deny"),
    "allow": rules("edit * allow"),
    "ask": rules("edit * ask"),
    "deny": rules("edit * deny"),
    "deny itself": rules("edit * deny self"),
    "deny but itself": rules("edit * deny", "edit src/* allow self"),
}

OWN: dict[str, Action | None] = {
    "silent": None,
    "allow": Action.ALLOW,
    "ask": Action.ASK,
    "deny": Action.DENY,
    "deny itself": Action.DENY,
    "deny but itself": Action.ALLOW,
}
"""What each says in its own session."""

CEILING: dict[str, Action | None] = {
    "silent": None,
    "allow": None,
    "ask": Action.ASK,
    "deny": Action.DENY,
    "deny itself": None,
    "deny but itself": Action.DENY,
}
"""What each says of its descendants."""

DEPTH = 4
MODES = tuple(Mode)


def chains(depth: int = DEPTH, names: Iterable[str] = tuple(AGENTS)) -> Iterable[tuple[str, ...]]:
    """Every chain of one to `depth` sessions, root first."""
    for length in range(1, depth + 1):
        for chain in product(names, repeat=length):
            # As a ceiling, what an agent bars itself from is silence; in the longest chains the one is enough.
            if length < DEPTH or "deny itself" not in chain[:-1]:
                yield chain


def members(names: Sequence[str], mode: Mode = Mode.DEFAULT) -> tuple[Member, ...]:
    """The sessions of a chain; the root's mode is everybody's."""
    return tuple(
        Member(session_id=SessionId(f"s{i}"), agent=f"agent{i}", rules=AGENTS[name], mode=mode if i == 0 else None)
        for i, name in enumerate(names)
    )


def asks_in(chain: Sequence[Member]) -> tuple[AskRef, ...]:
    """Every ask that the small universe can raise for a chain."""
    ruled = (AskRef(owner=agent_owner(each), rule=str(r)) for each in chain for r in each.rules if r.action is Action.ASK)
    return (AskRef(owner="silence", rule="edit"), *ruled)


def ruling(
    giver: int, reach: Reach, answers: tuple[AskRef, ...], text: str = "edit src/* allow", digest: str | None = None, number: int = 0
) -> Ruling:
    return Ruling(
        id=RulingId(f"r{number}"),
        session_id=SessionId(f"s{giver}"),
        reach=reach,
        rule=rule(text),
        answers=answers,
        digest="digest" if reach is Reach.ONCE and digest is None else digest,
    )


def permuted(held: Authority, order: Sequence[int]) -> Authority:
    """The same authority with its layers in another order."""
    return Authority(
        layers=tuple(held.layers[i] for i in order), mode=held.mode, may_ask=held.may_ask, rulings=tuple(reversed(held.rulings))
    )
