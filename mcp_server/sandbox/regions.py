"""What an authority says of a whole folder, or of the whole network, instead of a single path.

Errs to the side that closes: an allow counts only where it certainly covers all, a deny or ask wherever it may touch.
"""

from dataclasses import dataclass
from functools import lru_cache

from mcp_server.policy import layers, rulings, silence, wildcards
from mcp_server.policy.chain import Authority
from mcp_server.policy.layers import Held
from mcp_server.policy.matching import PATH_PERMISSIONS, pattern_for
from mcp_server.policy.values import Action, AskRef, Layer, LayerKind, Mode, PathValue, PlainValue, Reach, Rule
from mcp_server.policy.verdicts import Ruling

NOBODY = "zzzzzz-no-rule-names-this"
"""A name for asking the mode: it answers by where a path lies, not by how it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A deny or ask that touches a part of a region."""

    rule: Rule
    owner: str
    kind: LayerKind

    @property
    def words(self) -> str:
        """For a person."""
        return in_words(self.owner, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What holds in a region but for what the closings may touch."""

    action: Action
    because: str
    closings: tuple[Closing, ...]
    asks: tuple[AskRef, ...] = ()
    """What a person would have to lift, where the action is to ask."""


def in_words(owner: str, rule: Rule) -> str:
    """A rule with its owner and, where it gives one, its reason."""
    reason = f" ({rule.reason})" if rule.reason else ""
    return f"{owner}: {rule}{reason}"


def of_folder(authority: Authority, permission: str, folder: str, workspace: str) -> Said:
    """All that lies in a folder. Absolute, resolved."""
    value = path_value(f"{folder.rstrip('/')}/{NOBODY}", workspace)
    return _said(authority, permission, f"{folder.rstrip('/')}/*", value)


def of_network(authority: Authority) -> Said:
    """Every address."""
    return _said(authority, "webfetch", "*", PlainValue(text="*"))


def guards(authority: Authority, path: str, workspace: str) -> str:
    """What the guard asks or denies of writing one path, in words; empty where it does not. Nothing but a prompt of its own lifts it."""
    for layer in authority.layers:
        if layer.kind is LayerKind.GUARD and (rule := _guards(Held(layer.rules), path, workspace)):
            return in_words(layer.owner, rule)
    return ""


@lru_cache(maxsize=4096)
def _guards(held: Held, path: str, workspace: str) -> Rule | None:
    layer = Layer(kind=LayerKind.GUARD, owner="", rules=held.rules, may_allow=False)
    said = layers.opinion(layer, path_value(path, workspace), "edit", {})
    return None if said.action is None else said.rule


def path_value(path: str, workspace: str) -> PathValue:
    """A resolved path as policy sees it."""
    if path == workspace:
        return PathValue(resolved=path, relative=".", unresolved=path)
    relative = path[len(workspace) + 1 :] if path.startswith(f"{workspace}/") else None
    return PathValue(resolved=path, relative=relative, unresolved=path)


def _said(authority: Authority, permission: str, region: str, value: PathValue | PlainValue) -> Said:
    closings: list[Closing] = []
    bases: list[tuple[Action, Layer, Rule]] = []
    for layer in authority.layers:
        base, touched = _of_layer(layer, permission, region)
        closings += touched
        if base is not None:
            bases.append((base.action, layer, base))
    worst = max((action for action, _, _ in bases), default=None)
    if worst is None:
        return _by_mode(authority, permission, region, value, tuple(closings))
    deciding = [(layer, rule) for action, layer, rule in bases if action is worst]
    because = in_words(deciding[0][0].owner, deciding[0][1])
    asks: tuple[AskRef, ...] = ()
    if worst is Action.ASK:
        asks = tuple(AskRef(owner=layer.owner, rule=rulings.name_of(rule)) for layer, rule in deciding)
        worst = _asked(authority, permission, region, asks)
    return Said(action=worst, because=because, closings=tuple(closings), asks=asks if worst is Action.ASK else ())


def _of_layer(layer: Layer, permission: str, region: str) -> tuple[Rule | None, list[Closing]]:
    """The rule that speaks for all of the region, and what stands behind it and closes a part."""
    base, touched = _of_rules(Held(layers.heard(layer)), permission, region)
    closings = [Closing(rule=rule, owner=layer.owner, kind=layer.kind) for rule in touched]
    if base is not None and base.action is Action.ALLOW and not _heard(layer, base, permission):
        return None, closings
    return base, closings


@lru_cache(maxsize=4096)
def _of_rules(held: Held, permission: str, region: str) -> tuple[Rule | None, tuple[Rule, ...]]:
    path = permission in PATH_PERMISSIONS
    touched: list[Rule] = []
    for rule in reversed(held.rules):
        if rule.permission != permission and not wildcards.matches(rule.permission, permission):
            continue
        pattern = pattern_for(rule, path=path)
        allows = rule.action is Action.ALLOW
        if wildcards.contains(pattern, region) and not (allows and rule.when):
            return rule, tuple(touched)
        if not allows and _touches(pattern, region, path=path):
            touched.append(rule)
    return None, tuple(touched)


def _heard(layer: Layer, rule: Rule, permission: str) -> bool:
    crosses = layer.kind is LayerKind.CEILING and permission == rule.permission == "external_directory"
    return layer.may_allow or crosses


def _touches(pattern: str, region: str, *, path: bool) -> bool:
    if path and not pattern.startswith(("*", "/")):
        return True  # relative, where the workspace's own name holds a wildcard
    return wildcards.may_overlap(pattern, region) or wildcards.matches(pattern, region.removesuffix("/*"))


def _by_mode(authority: Authority, permission: str, region: str, value: PathValue | PlainValue, closings: tuple[Closing, ...]) -> Said:
    because = f"no rule speaks of it, and mode {authority.mode} "
    if _mode_allows(authority, permission, value):
        return Said(action=Action.ALLOW, because=f"{because}allows it", closings=closings)
    asks = (AskRef(owner=rulings.SILENCE, rule=permission),)
    action = _asked(authority, permission, region, asks)
    words = "asks" if action is not Action.DENY else "denies what would ask" if authority.may_ask else "asks, which nobody could answer"
    return Said(action=action, because=f"{because}{words}", closings=closings, asks=asks if action is Action.ASK else ())


def _mode_allows(authority: Authority, permission: str, value: PathValue | PlainValue) -> bool:
    if permission == "external_directory":
        return authority.mode is Mode.BYPASS
    return silence.allows(authority, permission, value)


def _asked(authority: Authority, permission: str, region: str, asks: tuple[AskRef, ...]) -> Action:
    if any(_answers(ruling, permission, region, asks) for ruling in authority.rulings):
        return Action.ALLOW
    return Action.DENY if authority.mode is Mode.DONT_ASK or not authority.may_ask else Action.ASK


def _answers(ruling: Ruling, permission: str, region: str, asks: tuple[AskRef, ...]) -> bool:
    rule = ruling.rule
    if ruling.reach is Reach.ONCE or rule.action is not Action.ALLOW or not set(asks) <= set(ruling.answers):
        return False
    pattern = pattern_for(rule, path=permission in PATH_PERMISSIONS)
    return wildcards.matches(rule.permission, permission) and wildcards.contains(pattern, region)
