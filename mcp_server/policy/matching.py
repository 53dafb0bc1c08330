"""Does a rule match a value? Paths, commands and plain text, each by its own forms.

A deny or ask matches any form that a value has; an allow matches only the form that cannot be mistaken:
a path as resolved, a command as written.
"""

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

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


class Texts(NamedTuple):
    """A value as rules meet it. A plain tuple, because every decision makes one."""

    whole: str
    """Any rule may match it."""
    relative: str | None = None
    """A path's relative form, likewise."""
    further: tuple[str, ...] = ()
    """What a deny or ask may match beside these."""
    folded: tuple[str, ...] = ()
    """Where case is not told apart: all of them, folded, again for denies and asks alone."""


def only_text(value: Value) -> str | None:
    """The text of a value that has no other, but perhaps a path's relative form. None: it has more, or hides something."""
    match value:
        case CommandValue():
            return None if value.forms or value.opaque else value.text
        case PathValue():
            return value.resolved if value.unresolved == value.resolved and not value.ignore_case else None
        case PlainValue():
            return None if value.forms else value.text
        case SpawnValue():
            return value.text
        case _:
            assert_never(value)


def texts_of(value: Value) -> Texts:
    """All its forms."""
    match value:
        case CommandValue():
            return Texts(value.text, None, value.forms)
        case PathValue():
            further = () if value.unresolved == value.resolved else (value.unresolved,)
            folded = (value.resolved, value.unresolved, *(() if value.relative is None else (value.relative,))) if value.ignore_case else ()
            return Texts(value.resolved, value.relative, further, tuple(map(fold, folded)))
        case PlainValue():
            return Texts(value.text, None, value.forms)
        case SpawnValue():
            return Texts(value.text)
        case _:
            assert_never(value)


def matches(rule: Rule, permission: str, value: Value, arguments: Mapping[str, Any]) -> bool:
    """Does this one rule match, permission and conditions included?"""
    return met(rule, permission, texts_of(value), arguments, path=isinstance(value, PathValue))


def met(rule: Rule, permission: str, texts: Texts, arguments: Mapping[str, Any], *, path: bool) -> bool:
    """The same of a value's texts; `path`: it is one."""
    return speaks_of(rule, permission) and pattern_met(rule, texts, path=path) and when_holds(rule, arguments)


def speaks_of(rule: Rule, permission: str) -> bool:
    """Does the rule concern that permission?"""
    return rule.permission == permission or wildcards.test_of(rule.permission)(permission)


def pattern_met(rule: Rule, texts: Texts, *, path: bool) -> bool:
    """Does its pattern match, whatever the permission?"""
    pattern = pattern_for(rule, path=path)
    if pattern == "*":
        return True
    test = wildcards.test_of(pattern)
    if test(texts.whole) or (texts.relative is not None and test(texts.relative)):
        return True
    if rule.action is Action.ALLOW or not (texts.further or texts.folded):
        return False
    return any(map(test, texts.further)) or (texts.folded != () and any(map(wildcards.test_of(fold(pattern)), texts.folded)))


def when_holds(rule: Rule, arguments: Mapping[str, Any]) -> bool:
    """Do its conditions hold? A doubt closes."""
    return not rule.when or conditions.hold(rule.when, arguments, in_doubt=rule.action is not Action.ALLOW)
