"""Which places of the file system a rule's pattern stands for. Pure."""

from mcp_server.policy import wildcards
from mcp_server.policy.matching import pattern_for
from mcp_server.policy.values import Action, Rule


def literal(rule: Rule) -> str | None:
    """The one place that it stands for: itself, or the folder before `/*`. None: more than one."""
    base = pattern_for(rule, path=True).removesuffix("/*")
    return (base or "/") if base.startswith("/") and wildcards.plain(base) else None


def bare_name(rule: Rule) -> str | None:
    """`name` of `*/name` and `*/name/*`. None: it is of another form."""
    pattern = pattern_for(rule, path=True)
    name = pattern.removesuffix("/*").removeprefix("*/")
    return name if pattern.startswith("*/") and name and wildcards.plain(name) else None


def closes_below(rule: Rule, permission: str, path: str, below: str) -> bool:
    """Does it close what lies in a folder, but not the folder itself?"""
    if rule.action is Action.ALLOW or not wildcards.matches(rule.permission, permission):
        return False
    pattern = pattern_for(rule, path=True)
    return wildcards.matches(pattern, below) and not wildcards.matches(pattern, path)
