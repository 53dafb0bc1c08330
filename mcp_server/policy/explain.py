"""A verdict in plain words."""

from mcp_server.policy.values import Action
from mcp_server.policy.verdicts import Verdict


def sentence(verdict: Verdict) -> str:
    """One sentence."""
    return f"{Action(verdict.action).word}: {verdict.step}"
