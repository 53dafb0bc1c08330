"""What the mode answers where no layer has an opinion."""

from typing import assert_never

from mcp_server.policy import effects, layers
from mcp_server.policy.chain import Authority
from mcp_server.policy.values import Action, CommandValue, Mode, PathValue, Value

READ_ONLY = frozenset({"read", "list", "glob", "grep"})
"""Permissions that change nothing."""

ALWAYS = frozenset({"todowrite", "question"})
"""Allowed in every mode; a question still needs somebody to ask."""


KINDS = RESOURCES, PROMPTS = ("resources", "prompts")
"""What stands behind a server's name in the permission for reading what it offers beside tools. No tool is offered under such a name."""


def reads(permission: str) -> bool:
    """Is it the permission for that: `github__resources`, `github__prompts`?"""
    server, separator, kind = permission.partition("__")
    return bool(server and separator) and kind in KINDS


def allows(authority: Authority, permission: str, value: Value) -> bool:
    """Does the mode allow it? Otherwise it asks."""
    if permission in ALWAYS or reads(permission):
        # A person picks what is read of other servers, or their application does: no model can.
        return True
    if permission in {"doom_loop", "task"}:
        # A loop asks in every mode. A spawn gets here only where it does not widen.
        return permission == "task"
    match authority.mode:
        case Mode.DONT_ASK | Mode.DEFAULT:
            return _read_only(authority, permission, value)
        case Mode.ACCEPT_EDITS:
            return _edit_inside(permission, value) or _read_only(authority, permission, value)
        case Mode.BYPASS:
            return not (isinstance(value, CommandValue) and value.opaque) or effects.hidden_rule(authority.layers, value) is None
        case _:
            assert_never(authority.mode)


def _edit_inside(permission: str, value: Value) -> bool:
    return permission == "edit" and isinstance(value, PathValue) and value.inside


def _read_only(authority: Authority, permission: str, value: Value) -> bool:
    if isinstance(value, CommandValue):
        return value.read_only and not value.opaque
    if permission not in READ_ONLY or not isinstance(value, PathValue):
        return False
    return value.inside or _lent(authority, value)


def _lent(authority: Authority, value: PathValue) -> bool:
    """A folder outside that `external_directory` allows counts as inside for reading."""
    said = [layers.opinion(layer, value, "external_directory", {}).action for layer in authority.layers]
    return max((action for action in said if action is not None), default=None) is Action.ALLOW
