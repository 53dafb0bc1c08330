"""On whose behalf another MCP server is asked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """For whom a server is asked."""

    principal: str
    """`Principal.key`."""
    workspace: str
    """Absolute, resolved."""
    root: str = ""
    """The root session of the tree that asks; empty: nobody's yet, somebody only wants to see the tools."""
