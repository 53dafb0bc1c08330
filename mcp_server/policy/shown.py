"""Which permissions are so wholly denied that a model need not be shown their tools. Being shown one permits nothing."""

from mcp_server.policy import wildcards
from mcp_server.policy.chain import Authority
from mcp_server.policy.layers import heard
from mcp_server.policy.values import Action, Layer


def wholly_denied(authority: Authority, permission: str) -> bool:
    """Does some layer deny this permission whatever its value?"""
    return any(_closes(layer, permission) for layer in authority.layers)


def _closes(layer: Layer, permission: str) -> bool:
    for rule in reversed(heard(layer)):
        if not wildcards.matches(rule.permission, permission):
            continue
        if rule.action is not Action.DENY or rule.when:
            return False
        if wildcards.blanket(rule.pattern):
            return True
    return False
