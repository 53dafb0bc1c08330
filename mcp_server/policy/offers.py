"""The answers that a person may be offered for a verdict that asks, and the very rule that each would create.

Wildcards have no escape: a value that holds `*` or `?` cannot be written as a rule of itself, so it takes `once` only.
"""

from dataclasses import dataclass

from mcp_server.policy import rulings, wildcards
from mcp_server.policy.values import Action, CommandValue, PathValue, Reach, Rule, Value
from mcp_server.policy.verdicts import AskRef, ValueVerdict, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One ruling that an answer would create, but for its id, session and reach."""

    rule: Rule
    """Shown as `str(rule)`, kept as it is."""
    answers: tuple[AskRef, ...]
    """What it would lift: the asks of its own value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What may be answered. Allow once and deny may always be."""

    once: tuple[Proposal, ...]
    """For a `once` ruling bound to the call's digest: one, with every ask of the call. Its rule names the first asked value."""
    session: tuple[Proposal, ...]
    """One an asked value; empty: may not be offered."""
    tree: tuple[Proposal, ...]
    deny: tuple[Proposal, ...]
    """Deny rules for this session and its descendants; empty: may not be offered."""
    answer_by: tuple[str, ...]
    """The roles of which each must have answered; empty: any person who may answer for the session."""
    because: tuple[str, ...]
    """Why a wider answer is not offered, in words."""


def offers(verdict: Verdict) -> Offers:
    """What may be answered to a verdict whose action is ask; for others there is nothing to answer and all is empty."""
    asking = tuple(part for part in verdict.parts if part.action is Action.ASK)
    if verdict.action is not Action.ASK or not asking:
        return Offers(once=(), session=(), tree=(), deny=(), answer_by=(), because=())
    standing = tuple(Proposal(rule=_rule(part, Action.ALLOW), answers=part.asks) for part in asking)
    because = tuple(dict.fromkeys(reason for part in asking if (reason := _narrow(part)) is not None))
    widest = min((rulings.widest_reach(part.opinions) for part in asking), key=rulings.WIDTH.__getitem__)
    return Offers(
        once=(Proposal(rule=_rule(asking[0], Action.ALLOW), answers=verdict.asks),),
        session=standing if not because and widest is not Reach.ONCE else (),
        tree=standing if not because and widest is Reach.TREE else (),
        deny=tuple(Proposal(rule=_rule(part, Action.DENY), answers=()) for part in asking) if all(map(_sayable, asking)) else (),
        answer_by=_roles(asking),
        because=(*because, *_caps(asking)),
    )


def _rule(part: ValueVerdict, action: Action) -> Rule:
    anchored = part.value.resolved if isinstance(part.value, PathValue) and wildcards.plain(part.value.resolved) else None
    return Rule(permission=part.permission, pattern=part.value.text, anchored=anchored, action=action)


def _sayable(part: ValueVerdict) -> bool:
    """Can a rule name this value and no other?"""
    if part.value.text == "*":
        return _has_no_values(part.permission)
    return wildcards.plain(part.value.text)


def _has_no_values(permission: str) -> bool:
    return permission in {"todowrite", "question"} or "__" in permission


def _narrow(part: ValueVerdict) -> str | None:
    """Why this value takes `once` only."""
    if any(rulings.protected(opinion) for opinion in part.opinions if opinion.action is Action.ASK):
        return f"`{part.value.text}` is protected: each write of it is asked for"
    if _opaque(part.value):
        return f"`{part.value.text}` holds a part that cannot be read: each run of it is asked for"
    if not _sayable(part):
        return f"`{part.value.text}` holds a wildcard, so that no rule can name it alone"
    return None


def _opaque(value: Value) -> bool:
    return isinstance(value, CommandValue) and value.opaque


def _caps(asking: tuple[ValueVerdict, ...]) -> tuple[str, ...]:
    capped = (opinion.rule for part in asking for opinion in part.opinions if opinion.action is Action.ASK)
    return tuple(dict.fromkeys(f"`{rule}` takes {rule.reach} at most" for rule in capped if rule is not None and rule.reach is not None))


def _roles(asking: tuple[ValueVerdict, ...]) -> tuple[str, ...]:
    rules = (opinion.rule for part in asking for opinion in part.opinions if opinion.action is Action.ASK)
    return tuple(dict.fromkeys(rule.answer_by for rule in rules if rule is not None and rule.answer_by is not None))
