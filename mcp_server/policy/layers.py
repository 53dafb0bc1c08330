"""What one layer says of one value: the last matching rule of it, or nothing.

Rules are compiled once a list and permission. The compiled form is found by the identity of the list, which is frozen;
it holds nothing that the list does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp_server.policy import matching, wildcards
from mcp_server.policy.values import Action, CommandValue, Layer, LayerKind, PathValue, Rule, Value
from mcp_server.policy.verdicts import Opinion

NONE = -1
"""No rule: below every index."""

_FEW = 24
"""Up to this many rules a scan is fast enough; a list made for one decision (rulings) would not repay its compiling."""


class Held:
    """A frozen list of rules, the same as another only if it is the very same object."""

    __slots__ = ("rules",)

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.rules is self.rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Patterns by what they need: for each text, the index of the last rule that matches."""

    exact: Mapping[str, int]
    heads: tuple[tuple[int, Mapping[str, int]], ...]
    """By length: what the text starts with."""
    tails: tuple[tuple[int, Mapping[str, int]], ...]
    blanket: int
    others: tuple[tuple[int, str, wildcards.PatternTest], ...]
    """The rest, last first, each with a text that whatever it matches must hold: looking for that first is cheap."""

    def last(self, text: str) -> int:
        """The index of the last pattern that matches."""
        best = self.exact.get(text, NONE)
        best = max(best, self.blanket)
        for length, heads in self.heads:
            found = heads.get(text[:length], NONE)
            best = max(best, found)
        for length, tails in self.tails:
            found = tails.get(text[-length:], NONE)
            best = max(best, found)
        for index, needed, test in self.others:
            if index <= best:
                break
            if needed in text and test(text):
                return index
        return best


def tabulate(patterns: Sequence[tuple[int, str]]) -> Table:
    """A table of numbered patterns. Where two are alike the larger number stays."""
    exact: dict[str, int] = {}
    heads: dict[int, dict[str, int]] = {}
    tails: dict[int, dict[str, int]] = {}
    blanket = NONE
    others: list[tuple[int, str, wildcards.PatternTest]] = []
    for index, pattern in sorted(patterns):
        for form in wildcards.forms(pattern):
            if form == "*":
                blanket = index
            elif wildcards.plain(form):
                exact[form] = index
            elif form.endswith("*") and wildcards.plain(form[:-1]):
                heads.setdefault(len(form) - 1, {})[form[:-1]] = index
            elif form.startswith("*") and wildcards.plain(form[1:]):
                tails.setdefault(len(form) - 1, {})[form[1:]] = index
            else:
                others.append((index, wildcards.longest_literal(form), wildcards.test_of(form)))
    return Table(exact=exact, heads=tuple(heads.items()), tails=tuple(tails.items()), blanket=blanket, others=tuple(reversed(others)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A list of rules as one permission and one sort of value meet it."""

    allows: Table
    closes: Table
    folded: Table
    """The denies and asks again, for file systems that do not tell case apart."""
    conditional: tuple[tuple[int, Rule], ...]
    """Rules with `when`, last first."""
    relative: bool
    """Some pattern has neither a root nor a `*` at its start. Only such a one can match a path as relative and not as absolute."""


@lru_cache(maxsize=2048)
def compiled(held: Held, permission: str, path: bool, below: bool) -> Compiled:
    """`held` as values of `permission` meet it; `below`: without the rules of scope self."""
    met = [
        (i, rule)
        for i, rule in enumerate(held.rules)
        if wildcards.matches(rule.permission, permission) and not (below and rule.scope == "self")
    ]
    plain = [(i, rule.action, matching.pattern_for(rule, path=path)) for i, rule in met if not rule.when]
    closes = [(i, pattern) for i, action, pattern in plain if action is not Action.ALLOW]
    return Compiled(
        allows=tabulate([(i, pattern) for i, action, pattern in plain if action is Action.ALLOW]),
        closes=tabulate(closes),
        folded=tabulate([(i, matching.fold(pattern)) for i, pattern in closes] if path else []),
        conditional=tuple(reversed([(i, rule) for i, rule in met if rule.when])),
        relative=any(not matching.rooted(pattern) for _, _, pattern in plain),
    )


def last_match(layer: Layer, permission: str, value: Value, arguments: Mapping[str, Any]) -> Rule | None:
    """The rule that speaks for the whole layer."""
    below = layer.kind is LayerKind.CEILING
    if len(layer.rules) > _FEW:
        return _looked_up(compiled(Held(layer.rules), permission, isinstance(value, PathValue), below), layer.rules, value, arguments)
    for rule in reversed(layer.rules):
        if not (below and rule.scope == "self") and matching.matches(rule, permission, value, arguments):
            return rule
    return None


def _looked_up(lists: Compiled, rules: tuple[Rule, ...], value: Value, arguments: Mapping[str, Any]) -> Rule | None:
    best = NONE
    for form in matching.exact_forms(value, relative=lists.relative):
        best = max(best, lists.allows.last(form))
    every = matching.all_forms(value, relative=lists.relative)
    for form in every:
        best = max(best, lists.closes.last(form))
    if matching.ignores_case(value):
        best = max(best, *(lists.folded.last(matching.fold(form)) for form in every))
    for index, rule in lists.conditional:
        if index > best and matching.pattern_matches(rule, value) and matching.when_holds(rule, arguments):
            return rule
    return rules[best] if best != NONE else None


@lru_cache(maxsize=512)
def _below(held: Held) -> tuple[Rule, ...]:
    return tuple(rule for rule in held.rules if rule.scope == "tree")


def heard(layer: Layer) -> tuple[Rule, ...]:
    """The rules of a layer that are listened to: a ceiling's without those of scope self."""
    return _below(Held(layer.rules)) if layer.kind is LayerKind.CEILING else layer.rules


def opinion(layer: Layer, value: Value, permission: str, arguments: Mapping[str, Any]) -> Opinion:
    """What the layer says, with the reason where a matching rule counts as nothing."""
    rule = last_match(layer, permission, value, arguments)
    if rule is None:
        return Opinion(layer=layer, action=None, rule=None)
    if rule.action is not Action.ALLOW:
        return Opinion(layer=layer, action=rule.action, rule=rule)
    if not vouches(rule, value):
        return Opinion(layer=layer, action=None, rule=rule, note="this allow does not vouch for the parts that cannot be read")
    if not layer.may_allow and not _crosses(layer, rule):
        return Opinion(layer=layer, action=None, rule=rule, note=f"an allow of this layer ({layer.kind}) is not heard")
    return Opinion(layer=layer, action=Action.ALLOW, rule=rule)


def vouches(rule: Rule, value: Value) -> bool:
    """An allow that stands for this value: one of a program does not stand for what cannot be read in its command."""
    return rule.opaque or not (isinstance(value, CommandValue) and value.opaque)


def _crosses(layer: Layer, rule: Rule) -> bool:
    """The one allow that passes from an ancestor to its descendants."""
    return layer.lends_folders and rule.permission == "external_directory"
