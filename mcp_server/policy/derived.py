"""The rules that being a subagent brings: no spawning or to-do lists unless its definition speaks of them,
no tools that stay with primary agents, nothing beyond what its caller left it.
"""

from functools import lru_cache

from mcp_server.policy import layers
from mcp_server.policy.layers import Held
from mcp_server.policy.values import Action, Rule

MUST_BE_NAMED = ("task", "todowrite")
"""What a child has only if its own definition names it."""

_TOOL_PERMISSION = {"write": "edit", "apply_patch": "edit"}
"""Tools whose permission has another name."""

_NOT_A_TOOL = ("external_directory", "doom_loop")
"""Raised beside another permission: narrowing the tools says nothing of them."""


def permission_of(tool: str) -> str:
    """The permission that a tool asks for."""
    return _TOOL_PERMISSION.get(tool, tool)


@lru_cache(maxsize=512)
def named(held: Held) -> tuple[Rule, ...]:
    """Deny what no rule of the agent layer naming the permission matches.

    Where the last rule that names it is a deny, this denies too: else a deny added before a `* allow` would open what
    was closed without it.
    """
    made: list[Rule] = []
    for permission in MUST_BE_NAMED:
        reason = f"a subagent has `{permission}` only where its own definition names it"
        made.append(Rule(permission=permission, pattern="*", action=Action.DENY, reason=reason))
        made.extend(_echo(rule) for rule in held.rules if rule.permission == permission)
    return tuple(made)


def _echo(rule: Rule) -> Rule:
    action = Action.DENY if rule.action is Action.DENY else Action.ALLOW
    return Rule(permission=rule.permission, pattern=rule.pattern, action=action, scope=rule.scope, when=rule.when, reason=rule.reason)


@lru_cache(maxsize=64)
def primary_only(tools: tuple[str, ...]) -> tuple[Rule, ...]:
    """Deny what stays with primary agents."""
    return tuple(
        Rule(permission=permission_of(tool), pattern="*", action=Action.DENY, reason=f"`{tool}` stays with primary agents")
        for tool in tools
    )


@lru_cache(maxsize=512)
def left_over(tools: tuple[str, ...], reason: str = "it was left fewer tools") -> tuple[Rule, ...]:
    """Deny all but the tools that the caller left."""
    kept = dict.fromkeys((*map(permission_of, tools), *_NOT_A_TOOL))
    whole = Rule(permission="*", pattern="*", action=Action.DENY, reason=reason)
    return (whole, *(Rule(permission=permission, pattern="*", action=Action.ALLOW) for permission in kept))


@lru_cache(maxsize=512)
def agents_only(agents: tuple[str, ...], reason: str) -> tuple[Rule, ...]:
    """Deny to send any but these."""
    whole = Rule(permission="task", pattern="*", action=Action.DENY, reason=reason)
    return (whole, *(Rule(permission="task", pattern=agent, action=Action.ALLOW) for agent in agents))


@lru_cache(maxsize=512)
def _joined(first: Held, second: Held) -> tuple[Rule, ...]:
    return (*first.rules, *second.rules)


def joined(first: tuple[Rule, ...], second: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """One list after the other, as one layer; the same two give the very same list."""
    if not second:
        return first
    return _joined(layers.Held(first), layers.Held(second)) if first else second
