"""What one layer says of one value: the last matching rule of it, or nothing.

A layer that is asked again is compiled, once a permission, and keeps that: see `Layer.readings`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mcp_server.policy import matching
from mcp_server.policy.matching import Texts
from mcp_server.policy.tables import NONE, Table, tabulate
from mcp_server.policy.values import Action, CommandValue, Layer, LayerKind, PathValue, Rule, Value
from mcp_server.policy.verdicts import Opinion

Sort = tuple[str, bool]
"""What a reading of a layer is made for: a permission, and whether its values are paths."""


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
class Reading:
    """A layer's rules as values of one sort meet them."""

    every: Table
    closes: Table
    """The denies and asks alone, for the forms of a value that no allow may match."""
    folded: Table
    """These again, for file systems that do not tell case apart."""
    conditional: tuple[tuple[int, Rule], ...]
    """Rules with `when`, last first."""
    relative: bool
    """Some path's pattern has neither a root nor a `*` at its start. Only such a one can match a path as relative and not as absolute."""
    careful: bool
    """A value of one text is not told by that text alone."""
    said: dict[int, Opinion] = field(default_factory=dict[int, Opinion])
    """By the rule's place: what the layer says where that rule speaks for it. Filled as needed."""


def opinions(heard: Sequence[Layer], value: Value, permission: str, arguments: Mapping[str, Any]) -> list[Opinion]:
    """What each of the layers says, in their order."""
    sort = (permission, isinstance(value, PathValue))
    text = matching.only_text(value)
    said: list[Opinion] = []
    for layer in heard:
        reading: Reading | None = layer.readings.get(sort)
        if text is None or reading is None or reading.careful:
            return _opinions(heard, sort, value, arguments)
        known = reading.said.get(reading.every.last(text))
        if known is None:
            return _opinions(heard, sort, value, arguments)
        said.append(known)
    return said


def _opinions(heard: Sequence[Layer], sort: Sort, value: Value, arguments: Mapping[str, Any]) -> list[Opinion]:
    """The same of any value, and of layers that nobody has asked yet."""
    texts = matching.texts_of(value)
    return [_opinion(layer, sort, texts, value, arguments) for layer in heard]


def opinion(layer: Layer, value: Value, permission: str, arguments: Mapping[str, Any]) -> Opinion:
    """What the layer says, with the reason where a matching rule counts as nothing."""
    return opinions((layer,), value, permission, arguments)[0]


def _opinion(layer: Layer, sort: Sort, texts: Texts, value: Value, arguments: Mapping[str, Any]) -> Opinion:
    reading: Reading | None = layer.readings.get(sort) or _read(layer, sort)
    if reading is None:
        return _said(layer, _scanned(layer, sort, texts, arguments), value)
    last = _last_of_others(reading, reading.every.last(texts.whole), texts)
    if reading.conditional:
        last = _last_conditional(reading, last, texts, arguments, path=sort[1])
    rule = layer.rules[last] if last != NONE else None
    if isinstance(value, CommandValue) and value.opaque:
        return _said(layer, rule, value)
    if last not in reading.said:
        reading.said[last] = _said(layer, rule, value)
    return reading.said[last]


def _last_of_others(reading: Reading, best: int, texts: Texts) -> int:
    if texts.relative is not None and reading.relative:
        best = max(best, reading.every.last(texts.relative))
    for form in texts.further:
        best = max(best, reading.closes.last(form))
    for form in texts.folded:
        best = max(best, reading.folded.last(form))
    return best


def _last_conditional(reading: Reading, best: int, texts: Texts, arguments: Mapping[str, Any], *, path: bool) -> int:
    for place, rule in reading.conditional:
        if place > best and matching.pattern_met(rule, texts, path=path) and matching.when_holds(rule, arguments):
            return place
    return best


def _read(layer: Layer, sort: Sort) -> Reading | None:
    """The layer compiled. None at the first asking: one that is made for a single decision (a person's rulings) would not repay it."""
    if sort not in layer.readings:
        layer.readings[sort] = None
        return None
    reading = layer.readings[sort] = _compiled(layer, *sort)
    return reading


def _compiled(layer: Layer, permission: str, path: bool) -> Reading:
    below = layer.kind is LayerKind.CEILING
    met = [
        (place, rule)
        for place, rule in enumerate(layer.rules)
        if matching.speaks_of(rule, permission) and not (below and rule.scope == "self")
    ]
    plain = [(place, rule.action, matching.pattern_for(rule, path=path)) for place, rule in met if not rule.when]
    closes = [(place, pattern) for place, action, pattern in plain if action is not Action.ALLOW]
    relative = path and any(not matching.rooted(pattern) for _, _, pattern in plain)
    conditional = tuple(reversed([(place, rule) for place, rule in met if rule.when]))
    return Reading(
        every=tabulate([(place, pattern) for place, _, pattern in plain]),
        closes=tabulate(closes),
        folded=tabulate([(place, matching.fold(pattern)) for place, pattern in closes] if path else []),
        conditional=conditional,
        relative=relative,
        careful=relative or conditional != (),
    )


def _scanned(layer: Layer, sort: Sort, texts: Texts, arguments: Mapping[str, Any]) -> Rule | None:
    below = layer.kind is LayerKind.CEILING
    permission, path = sort
    for rule in reversed(layer.rules):
        if not (below and rule.scope == "self") and matching.met(rule, permission, texts, arguments, path=path):
            return rule
    return None


def _said(layer: Layer, rule: Rule | None, value: Value) -> Opinion:
    """The opinion of a layer for which that rule speaks."""
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


@lru_cache(maxsize=512)
def _below(held: Held) -> tuple[Rule, ...]:
    return tuple(rule for rule in held.rules if rule.scope == "tree")


def heard(layer: Layer) -> tuple[Rule, ...]:
    """The rules of a layer that are listened to: a ceiling's without those of scope self."""
    return _below(Held(layer.rules)) if layer.kind is LayerKind.CEILING else layer.rules
