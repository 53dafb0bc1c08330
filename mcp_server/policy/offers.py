"""The answers that a person may be offered for a verdict that asks, and the very rules that each would create.

Wildcards have no escape: a value that holds `*` or `?` cannot be written as a rule of itself, so it takes `once` only.
"""

from dataclasses import dataclass
from enum import StrEnum

from mcp_server.policy import rulings, wildcards
from mcp_server.policy.values import Action, CommandValue, PathValue, Reach, Rule, Value
from mcp_server.policy.verdicts import Opinion, ValueVerdict, Verdict


class OfferKind(StrEnum):
    """What a person may answer to an approval. The values are those of the form."""

    ALLOW_ONCE = "allow_once"
    ALLOW_SESSION = "allow_session"
    ALLOW_TREE = "allow_tree"
    DENY = "deny"
    DENY_SESSION = "deny_session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One answer, and one rule for each asked value; none for once and deny."""

    choice: OfferKind
    rules: tuple[Rule, ...] = ()


def offers(verdict: Verdict) -> tuple[Offered, ...]:
    """What may be answered to a verdict that asks, narrowest first; nothing to any other."""
    asking = _asking(verdict)
    if not asking:
        return ()
    widest = rulings.narrowest(_widest(part) for part in asking)
    sayable = all(map(_sayable, asking))
    allows = tuple(_rule(part, Action.ALLOW) for part in asking)
    made = [Offered(choice=OfferKind.ALLOW_ONCE)]
    if widest is not Reach.ONCE:
        made.append(Offered(choice=OfferKind.ALLOW_SESSION, rules=allows))
    if widest is Reach.TREE:
        made.append(Offered(choice=OfferKind.ALLOW_TREE, rules=allows))
    made.append(Offered(choice=OfferKind.DENY))
    if sayable:
        made.append(Offered(choice=OfferKind.DENY_SESSION, rules=tuple(_rule(part, Action.DENY) for part in asking)))
    return tuple(made)


def limits(verdict: Verdict) -> tuple[str, ...]:
    """Why no wider answer is offered, a line each."""
    asking = _asking(verdict)
    lines = [line for part in asking if (line := _once_because(part)) is not None]
    lines += [f"`{rule}` takes an answer for {rule.reach} at most" for rule in _rules(asking) if rule.reach is not None]
    return tuple(dict.fromkeys(lines))


def roles(verdict: Verdict) -> tuple[str, ...]:
    """The roles that must answer, each once; empty: whoever answers for the session."""
    return tuple(dict.fromkeys(rule.answer_by for rule in _rules(_asking(verdict)) if rule.answer_by is not None))


def _asking(verdict: Verdict) -> tuple[ValueVerdict, ...]:
    if verdict.action is not Action.ASK:
        return ()
    return tuple(part for part in verdict.parts if part.action is Action.ASK)


def _rules(asking: tuple[ValueVerdict, ...]) -> tuple[Rule, ...]:
    return tuple(opinion.rule for part in asking for opinion in _asked_by(part) if opinion.rule is not None)


def _asked_by(part: ValueVerdict) -> tuple[Opinion, ...]:
    return tuple(opinion for opinion in part.opinions if opinion.action is Action.ASK)


def _widest(part: ValueVerdict) -> Reach:
    return rulings.widest_reach(part.opinions) if _once_because(part) is None else Reach.ONCE


def _once_because(part: ValueVerdict) -> str | None:
    """Why this value takes `once` only."""
    if any(map(rulings.protected, _asked_by(part))):
        return f"`{part.value.text}` is protected: each write of it is asked for"
    if _opaque(part.value):
        return f"`{part.value.text}` holds a part that cannot be read: each run of it is asked for"
    if _offer(part.value) == "":
        return f"`{part.value.text}` is asked for each time: no rule for it would say what it does"
    if _offer(part.value) is None and not _sayable(part):
        return f"`{part.value.text}` holds a wildcard, so that no rule can name it alone"
    return None


def _offer(value: Value) -> str | None:
    """The rule that a command comes with; None: its text."""
    return value.offer if isinstance(value, CommandValue) else None


def _opaque(value: Value) -> bool:
    return isinstance(value, CommandValue) and value.opaque


def _sayable(part: ValueVerdict) -> bool:
    """Can a rule name this value and no other?"""
    text = part.value.text
    if text == "*":
        return part.permission in {"todowrite", "question"} or "__" in part.permission
    return text != "" and wildcards.plain(text)


def _rule(part: ValueVerdict, action: Action) -> Rule:
    anchored = part.value.resolved if isinstance(part.value, PathValue) and wildcards.plain(part.value.resolved) else None
    offer = _offer(part.value) if action is Action.ALLOW else None
    return Rule(permission=part.permission, pattern=offer or part.value.text, anchored=anchored, action=action)
