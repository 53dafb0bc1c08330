"""Sets of requests named by two wildcards, a permission's and a value's: which rules cover them, close them, touch them.

Used to compare rules with rules. Every answer errs to the side that lists more.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_server.policy import layers, matching, wildcards
from mcp_server.policy.values import Action, Layer, Rule

BUILT_IN = (
    *("read", "edit", "list", "glob", "grep", "external_directory", "bash", "webfetch", "websearch"),
    *("task", "doom_loop", "todowrite", "question"),
)
"""The permissions that have names of their own; every other is an upstream tool's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Whatever is asked of a permission that matches `permission`, with a value that matches the pattern."""

    permission: str
    pattern: str
    shown: str
    """The pattern as written."""

    @property
    def path(self) -> bool:
        return self.permission in matching.PATH_PERMISSIONS

    def __str__(self) -> str:
        return f"{self.permission} {self.shown}"


def regions_of(rule: Rule) -> tuple[Region, ...]:
    """A rule's own, one a permission: a wildcard permission stands for the built-in ones it matches and for upstream tools."""
    if wildcards.plain(rule.permission):
        names: Iterable[str] = (rule.permission,)
    else:
        names = (*(name for name in BUILT_IN if wildcards.matches(rule.permission, name)), rule.permission)
    return tuple(
        Region(
            permission=name,
            pattern=matching.pattern_for(rule, path=name in matching.PATH_PERMISSIONS),
            shown=rule.pattern,
        )
        for name in names
    )


def covers(rule: Rule, region: Region) -> bool:
    """Does the rule's text match all of the region? Its conditions are not looked at."""
    if not wildcards.contains(rule.permission, region.permission):
        return False
    return wildcards.contains(matching.pattern_for(rule, path=region.path), region.pattern)


def touches(rule: Rule, region: Region) -> bool:
    """May the rule match something of the region?"""
    if not wildcards.may_overlap(rule.permission, region.permission):
        return False
    if region.permission == "bash" and rule.action is not Action.ALLOW:
        return True  # a deny or ask matches forms of a command that its text does not show
    pattern = matching.pattern_for(rule, path=region.path)
    if region.path and not (matching.rooted(pattern) and matching.rooted(region.pattern)):
        return True  # one is relative, the other may not be
    return wildcards.may_overlap(matching.fold(pattern), matching.fold(region.pattern))


def closed(layer: Layer, region: Region) -> bool:
    """Does the layer deny or ask all of the region?"""
    for rule in reversed(layers.heard(layer)):
        if not touches(rule, region):
            continue
        if rule.action is Action.ALLOW:
            return False
        if covers(rule, region) and not rule.when:
            return True
    return False
