"""What a child could do without asking that its caller could not. Compared rule by rule, each under its own mode, rulings
left out; what is not plainly covered is listed as new.

A caller's denies and asks bind the child as a ceiling. What can be new is therefore only: where the caller is silent and
its mode asks, where it bars itself alone (scope self), and where the person's or the operator's rules for the child's
agent undo what they say for all.
"""

from collections.abc import Iterable

from mcp_server.policy import regions, wildcards
from mcp_server.policy.chain import Authority, Commons, Member, authority
from mcp_server.policy.regions import Region
from mcp_server.policy.silence import ALWAYS, READ_ONLY
from mcp_server.policy.values import Action, Mode, Rule


def widening(caller: tuple[Member, ...], child: Member, commons: Commons) -> tuple[str, ...]:
    """One line each, `permission pattern`, for a prompt. `caller` is its chain, root first; empty result: it does not widen."""
    has = authority(caller, commons)
    gets = authority((*caller, child), commons)
    own = caller[-1]
    lines = [
        *(region for rule in (*child.rules, *child.managed) for region in _new(rule, has, gets, commons)),
        *_undone(commons.person, own.person, child.person, gets),
        *_undone(commons.managed, own.managed, child.managed, gets),
        *_unbarred(own, gets),
    ]
    return tuple(dict.fromkeys(map(str, lines)))


def _new(rule: Rule, has: Authority, gets: Authority, commons: Commons) -> tuple[Region, ...]:
    """The parts of a child's allow that its caller has not."""
    if rule.action is not Action.ALLOW:
        return ()
    open_parts = (region for region in regions.regions_of(rule) if not _closed(gets, region))
    return tuple(region for region in open_parts if not (_granted(has, rule, region) or _at_silence(has, gets, rule, region, commons)))


def _closed(gets: Authority, region: Region) -> bool:
    return any(regions.closed(layer, region) for layer in gets.layers)


def _granted(has: Authority, rule: Rule, region: Region) -> bool:
    """An allow that the caller hears covers it. Where another of its rules takes that back, the child is bound by the same
    rule, or it is of scope self and listed by itself.
    """
    return any(_as_wide(own, rule) and regions.covers(own, region) for own in _allows(has))


def _as_wide(own: Rule, rule: Rule) -> bool:
    return (not own.when or own.when == rule.when) and (own.opaque or not rule.opaque)


def _allows(held: Authority) -> Iterable[Rule]:
    for layer in held.layers:
        for rule in layer.rules:
            if rule.action is Action.ALLOW and (layer.may_allow or (layer.lends_folders and _crosses(rule))):
                yield rule


def _crosses(rule: Rule) -> bool:
    return rule.permission == "external_directory" and rule.scope == "tree"


def _at_silence(has: Authority, gets: Authority, rule: Rule, region: Region, commons: Commons) -> bool:
    """The caller's mode would allow it where no rule of its speaks."""
    permission = region.permission
    if permission in READ_ONLY or permission in ALWAYS or permission == "task":
        # What is read outside the workspace needs `external_directory` as well, which is compared by itself;
        # what is spawned by the child is compared with the child.
        return True
    if rule.opaque or permission == "doom_loop" or not wildcards.plain(permission):
        return has.mode is Mode.BYPASS and not rule.opaque and permission != "doom_loop"
    if permission == "edit" and has.mode is Mode.ACCEPT_EDITS:
        return _inside(region, commons.workspace) or not _lends(gets)
    return has.mode is Mode.BYPASS


def _inside(region: Region, workspace: str) -> bool:
    return wildcards.plain(workspace) and wildcards.contains(f"{workspace.rstrip('/')}/*", region.pattern)


def _lends(held: Authority) -> bool:
    """Some folder outside may be used without asking."""
    return any(wildcards.matches(rule.permission, "external_directory") for rule in _allows(held))


def _undone(everyone: tuple[Rule, ...], own: tuple[Rule, ...], child: tuple[Rule, ...], gets: Authority) -> tuple[Region, ...]:
    """Allows for the child's agent that undo a deny or ask for all, which its caller still hears."""
    found: list[Region] = []
    for rule in child:
        if rule.action is not Action.ALLOW:
            continue
        for region in regions.regions_of(rule):
            bound = any(each.action is not Action.ALLOW and regions.touches(each, region) for each in everyone)
            freed = any(each.action is Action.ALLOW and _as_wide(each, rule) and regions.covers(each, region) for each in own)
            if bound and not freed and not _closed(gets, region):
                found.append(region)
    return tuple(found)


def _unbarred(own: Member, gets: Authority) -> tuple[Region, ...]:
    """What the caller bars itself alone from, and the child could do."""
    found: list[Region] = []
    for place, rule in enumerate(own.rules):
        if rule.scope != "self" or rule.action is Action.ALLOW:
            continue
        later = own.rules[place + 1 :]
        for region in regions.regions_of(rule):
            if any(each.action is Action.ALLOW and not each.when and regions.covers(each, region) for each in later):
                continue
            if not _closed(gets, region) and _may_do(gets, region):
                found.append(region)
    return tuple(found)


def _may_do(gets: Authority, region: Region) -> bool:
    """Some of it without asking."""
    if any(_may_meet(rule, region) for rule in _allows(gets)):
        return True
    if region.permission in READ_ONLY or region.permission in ALWAYS or region.permission == "task":
        return True
    if region.permission == "bash":
        return True  # read-only commands need no rule
    if region.permission == "doom_loop":
        return False
    return gets.mode is Mode.BYPASS or (gets.mode is Mode.ACCEPT_EDITS and region.permission == "edit")


def _may_meet(rule: Rule, region: Region) -> bool:
    if region.permission == "bash":
        return wildcards.may_overlap(rule.permission, "bash")
    return regions.touches(rule, region)
