"""Does a rule match a value? Paths, commands and plain text, each by its own forms.

A deny or ask matches any form that a value has; an allow matches only the form that cannot be mistaken:
a path as resolved, a command as written.
"""

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from mcp_server.policy import conditions, wildcards
from mcp_server.policy.values import Action, CommandValue, PathValue, PlainValue, Rule, SpawnValue, Value

PATH_PERMISSIONS = frozenset({"read", "edit", "list", "glob", "grep", "external_directory"})
"""Permissions whose value is a path."""

_ROOT = re.compile(r"/|[A-Za-z]:/")
_HOME = ("~/", "$HOME/")


def anchor(rule: Rule, workspace: str, home: str | None = None) -> Rule:
    """The rule with its pattern anchored for paths, as loaders must hand it on.

    A pattern that starts with `*` or has a root stays; `~/` and `$HOME/` expand where `home` is known; any other is
    taken from `workspace` (absolute, resolved). Rules that no path permission can meet stay as they are.
    """
    if not any(wildcards.matches(rule.permission, name) for name in PATH_PERMISSIONS):
        return rule
    return replace(rule, anchored=_anchored(rule, workspace, home))


def _anchored(rule: Rule, workspace: str, home: str | None) -> str | None:
    pattern = rule.pattern
    if pattern == "" or rooted(pattern):
        return None
    for prefix in _HOME:
        if home is not None and pattern.startswith(prefix):
            return _joined(home, pattern.removeprefix(prefix), rule.action)
    return _joined(workspace, pattern, rule.action)


def _joined(base: str, pattern: str, action: Action) -> str | None:
    # Wildcards have no escape. A `*` in the folder's own name would widen the rule: a deny may be wider, an allow
    # must not be, so it keeps to the relative form.
    if action is Action.ALLOW and not wildcards.plain(base):
        return None
    steps = pattern.split("/")
    while steps and steps[0] in (".", ".."):
        base = posixpath.dirname(base) if steps[0] == ".." else base
        steps = steps[1:]
    return f"{base.rstrip('/')}/{'/'.join(steps)}" if steps else base


def pattern_for(rule: Rule, *, path: bool) -> str:
    """The pattern that a value is compared with."""
    return rule.anchored if path and rule.anchored is not None else rule.pattern


def fold(text: str) -> str:
    """Text for a file system that does not tell case apart (nor, where one does not, composed letters)."""
    return unicodedata.normalize("NFC", text).casefold()


def rooted(pattern: str) -> bool:
    """Matches the absolute form of every path that it matches: it has a root, or a `*` in front that takes any."""
    return pattern.startswith("*") or _ROOT.match(pattern) is not None


def exact_forms(value: Value, *, relative: bool = True) -> tuple[str, ...]:
    """The forms that an allow may match; `relative` False: without a path's relative form."""
    match value:
        case PathValue():
            return (value.resolved, value.relative) if relative and value.relative is not None else (value.resolved,)
        case PlainValue() | SpawnValue() | CommandValue():
            return (value.text,)
        case _:
            assert_never(value)


def all_forms(value: Value, *, relative: bool = True) -> tuple[str, ...]:
    """The forms that a deny or ask may match, case told apart."""
    match value:
        case PathValue():
            exact = exact_forms(value, relative=relative)
            return exact if value.unresolved == value.resolved else (*exact, value.unresolved)
        case PlainValue() | SpawnValue():
            return (value.text,)
        case CommandValue():
            return (value.text, *value.forms) if value.forms else (value.text,)
        case _:
            assert_never(value)


def ignores_case(value: Value) -> bool:
    """A deny or ask must match it in either case."""
    return isinstance(value, PathValue) and value.ignore_case


def matches(rule: Rule, permission: str, value: Value, arguments: Mapping[str, Any]) -> bool:
    """Does this one rule match, permission and conditions included?"""
    if rule.permission != permission and not wildcards.test_of(rule.permission)(permission):
        return False
    return pattern_matches(rule, value) and when_holds(rule, arguments)


def pattern_matches(rule: Rule, value: Value) -> bool:
    """Does its pattern match, whatever the permission?"""
    pattern = pattern_for(rule, path=isinstance(value, PathValue))
    if pattern == "*":
        return True
    test = wildcards.test_of(pattern)
    for form in exact_forms(value) if rule.action is Action.ALLOW else all_forms(value):
        if test(form):
            return True
    if rule.action is Action.ALLOW or not ignores_case(value):
        return False
    return any(wildcards.matches(fold(pattern), fold(form)) for form in all_forms(value))


def when_holds(rule: Rule, arguments: Mapping[str, Any]) -> bool:
    """Do its conditions hold? A doubt closes."""
    return not rule.when or conditions.hold(rule.when, arguments, in_doubt=rule.action is not Action.ALLOW)
