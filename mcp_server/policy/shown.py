"""Which permissions are so wholly denied that a model need not be shown their tools. Being shown one permits nothing."""

from functools import lru_cache

from mcp_server.policy import wildcards
from mcp_server.policy.chain import Authority
from mcp_server.policy.layers import Held, heard
from mcp_server.policy.values import Action


def wholly_denied(authority: Authority, permission: str) -> bool:
    """Does some layer deny this permission whatever its value?"""
    return any(_closes(Held(heard(layer)), permission) for layer in authority.layers)


@lru_cache(maxsize=4096)
def _closes(held: Held, permission: str) -> bool:
    for rule in reversed(held.rules):
        if not wildcards.matches(rule.permission, permission):
            continue
        if rule.action is not Action.DENY or rule.when:
            return False
        if wildcards.blanket(rule.pattern):
            return True
    return False
