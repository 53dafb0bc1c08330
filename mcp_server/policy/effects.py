"""What a command might do that no request of its call names, and which rules could speak of that.

The guard's rules are left out: they stand in every session, and would make every command ask. What they say is held by the sandbox;
a command gets here only where a person or the operator chose to do without one.
"""

from dataclasses import dataclass
from functools import lru_cache

from mcp_server.policy import layers, wildcards
from mcp_server.policy.layers import Held
from mcp_server.policy.values import EFFECTS, Action, CommandValue, Layer, LayerKind, Rule
from mcp_server.policy.verdicts import Opinion


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """The strictest that a layer could say of something unseen, and the rule that says it."""

    action: Action
    rule: Rule


def concern(rules: tuple[Rule, ...], permissions: tuple[str, ...]) -> Concern | None:
    """A deny or ask of one of `permissions` that could apply; a deny only where the permission is wholly denied."""
    return _concern(Held(rules), permissions)


@lru_cache(maxsize=1024)
def _concern(held: Held, permissions: tuple[str, ...]) -> Concern | None:
    found = [each for permission in permissions if (each := _of(held.rules, permission)) is not None]
    return max(found, key=lambda each: each.action, default=None)


def _of(rules: tuple[Rule, ...], permission: str) -> Concern | None:
    """From the last rule back to the first that speaks of every value: what stands before that one is superseded."""
    closing: Rule | None = None
    softened = False
    for rule in reversed(rules):
        if not wildcards.matches(rule.permission, permission):
            continue
        whole = wildcards.blanket(rule.pattern)
        if rule.action is Action.ALLOW:
            if whole and not rule.when:
                break
            softened = softened or not rule.when
            continue
        if whole:
            if rule.action is Action.DENY and not softened:
                return Concern(action=Action.DENY, rule=rule)
            closing = closing or rule
            break
        softened = softened or rule.action is Action.ASK
        closing = closing or rule
    return None if closing is None else Concern(action=Action.ASK, rule=closing)


def effects_opinion(said: Opinion, value: CommandValue) -> Opinion | None:
    """What the layer that said so of a command says of its effects that are not known. Its own allow for the command vouches against
    its own asks only.
    """
    layer, own = said.layer, said.rule
    if value.unseen not in layer.concerns:
        layer.concerns[value.unseen] = _of_layer(layer, value.unseen)
    found: Opinion | None = layer.concerns[value.unseen]
    if found is None or _vouched(own, found, value):
        return None
    return found


def _vouched(own: Rule | None, found: Opinion, value: CommandValue) -> bool:
    """Who allows a command knows what they themselves want to be asked about, and what it prints of earlier states. What else they
    deny, no command may do unseen.
    """
    asks = found.rule is not None and found.rule.action is Action.ASK
    return (asks or value.unseen == ("read",)) and own is not None and own.action is Action.ALLOW and layers.vouches(own, value)


def _of_layer(layer: Layer, unseen: tuple[str, ...]) -> Opinion | None:
    found = None if layer.kind is LayerKind.GUARD else concern(layers.heard(layer), unseen)
    if found is None:
        return None
    return Opinion(layer=layer, action=found.action, rule=found.rule, note="what the command would do is not known")


def hidden_rule(heard: tuple[Layer, ...], value: CommandValue) -> Rule | None:
    """A deny or ask that could apply to a command that cannot be read."""
    could = ("bash",) if value.effects_known else ("bash", *EFFECTS)
    for layer in heard:
        if layer.kind is LayerKind.GUARD:
            continue
        found = concern(layers.heard(layer), could)
        if found is not None:
            return found.rule
    return None
