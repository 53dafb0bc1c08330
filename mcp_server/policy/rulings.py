"""Which asks a person has answered already. A ruling lifts only the asks that its prompt showed, and never a deny.

One ruling must answer all the asks of a value: answers from several prompts are not added up, because none of their
givers saw the whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_server.policy import layers, matching
from mcp_server.policy.values import Action, AskRef, CommandValue, Condition, LayerKind, Reach, Rule, SpawnValue, Value
from mcp_server.policy.verdicts import Opinion, Ruling, Verdict

SILENCE = "silence"
"""`AskRef.owner` where no layer had an opinion."""

HANDING = "handing down"
"""`AskRef.owner` of a ruling that a caller would hand to its child: asked in every mode, whatever allows the spawn."""

WIDENING = "widening"
"""`AskRef.owner` of what a child could do and its caller could not; one ask a line, so that another line asks again."""

_WIDTH = {Reach.ONCE: 0, Reach.SESSION: 1, Reach.TREE: 2}
"""How far each carries, for comparison."""

_OVER_WIDENING = frozenset({LayerKind.MANAGED, LayerKind.PERSON})
"""Whose explicit `task` allow stands for what the spawn would widen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One value of one request, with what the layers said of it."""

    permission: str
    value: Value
    arguments: Mapping[str, Any]
    opinions: tuple[Opinion, ...]


def asks_of(opinions: Sequence[Opinion]) -> tuple[AskRef, ...]:
    """Every rule that asks, each once."""
    asking = (each for each in opinions if each.action is Action.ASK and each.rule is not None)
    return tuple(dict.fromkeys(AskRef(owner=each.layer.owner, rule=name_of(each.rule)) for each in asking if each.rule is not None))


def name_of(rule: Rule) -> str:
    """The rule's text; with its conditions, which tell it from another of the same text."""
    if not rule.when:
        return str(rule)
    return f"{rule} when {' and '.join(map(_condition, rule.when))}"


def _condition(condition: Condition) -> str:
    tests = {
        "=": condition.equals,
        "matches": condition.matches,
        ">=": condition.minimum,
        "<=": condition.maximum,
        "in": None if condition.one_of is None else list(condition.one_of),
    }
    return " ".join(f"{'.'.join(condition.path)} {word} {wanted!r}" for word, wanted in tests.items() if wanted is not None)


def spawn_asks(value: SpawnValue, opinions: Sequence[Opinion], *, widening_asks: bool) -> tuple[AskRef, ...]:
    """What a spawn must ask for beyond its rules: the rulings it hands down, and what it widens, unless the mode lets that
    pass or the operator or the person allowed just this in so many words.
    """
    handed = tuple(AskRef(owner=HANDING, rule=f"task {value.text}: {line}") for line in value.handed)
    if not widening_asks or any(_stands_for_widening(each) for each in opinions):
        return handed
    return (*handed, *(AskRef(owner=WIDENING, rule=f"task {value.text}: {line}") for line in value.widening))


def _stands_for_widening(opinion: Opinion) -> bool:
    if opinion.action is not Action.ALLOW or opinion.rule is None:
        return False
    return opinion.rule.permission == "task" and opinion.layer.kind in _OVER_WIDENING


def answering(rulings: Sequence[Ruling], asked: Asked, asks: Sequence[AskRef], digest: str | None) -> Ruling | None:
    """The ruling that answers. A standing one before a `once`, so that none is used up without need."""
    lifting = [each for each in rulings if _lifts(each, asked, asks, digest)]
    return max(lifting, key=lambda each: (_WIDTH[each.reach], each.id), default=None)


def in_person(verdict: Verdict, rulings: Sequence[Ruling]) -> bool:
    """Does it rest on an answer to this very call?"""
    return any(each.reach is Reach.ONCE for each in rulings if each.id in verdict.rulings)


def lifted(verdict: Verdict, rulings: Sequence[Ruling]) -> frozenset[AskRef]:
    """The asks that a person lifted with the line as a whole: all that was shown for this very call, or what was shown for every command
    of it that does more than look. A command that nobody ruled on lends the line nothing.
    """
    known = {each.id: each for each in rulings}
    used = [known[each] for each in verdict.rulings if each in known]
    once = [each.answers for each in used if each.reach is Reach.ONCE]
    if once:
        return frozenset(ask for answers in once for ask in answers)
    doing = (part for part in verdict.parts if isinstance(part.value, CommandValue) and not part.value.read_only)
    ruled = [{ask for each in part.rulings if each in known for ask in known[each].answers} for part in doing]
    return frozenset(set[AskRef].intersection(*ruled)) if ruled else frozenset()


def _lifts(ruling: Ruling, asked: Asked, asks: Sequence[AskRef], digest: str | None) -> bool:
    if ruling.rule.action is not Action.ALLOW or not set(asks) <= set(ruling.answers):
        return False
    needed = roles_needed(asked.opinions)
    if needed and (ruling.reach is not Reach.ONCE or not needed <= set(ruling.roles)):
        return False
    if ruling.reach is Reach.ONCE:
        return digest is not None and ruling.digest == digest
    if _WIDTH[ruling.reach] > _WIDTH[widest_reach(asked.opinions)]:
        return False
    return matching.matches(ruling.rule, asked.permission, asked.value, asked.arguments) and layers.vouches(ruling.rule, asked.value)


def roles_needed(opinions: Sequence[Opinion]) -> frozenset[str]:
    """Whom rules name who must answer, each of them; empty: whoever answers for the session."""
    asking = (each.rule for each in opinions if each.action is Action.ASK and each.rule is not None)
    return frozenset(rule.answer_by for rule in asking if rule.answer_by is not None)


def widest_reach(opinions: Sequence[Opinion]) -> Reach:
    """The widest ruling that may answer the asks of one value."""
    asking = [each for each in opinions if each.action is Action.ASK and each.rule is not None]
    if any(protected(each) for each in asking):
        return Reach.ONCE
    return narrowest(each.rule.reach for each in asking if each.rule is not None and each.rule.reach is not None)


def narrowest(reaches: Iterable[Reach]) -> Reach:
    """The one that carries least; of none, the widest there is."""
    return min(reaches, key=_WIDTH.__getitem__, default=Reach.TREE)


def protected(opinion: Opinion) -> bool:
    """The guard asks before a protected path is written."""
    return opinion.layer.kind is LayerKind.GUARD and opinion.rule is not None and opinion.rule.permission == "edit"
