"""On whose behalf another MCP server is asked, and how it may ask them back."""

from dataclasses import dataclass
from typing import Protocol

from mcp_server.elicited import Asked, Replied


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """For whom a server is asked."""

    principal: str
    """`Principal.key`."""
    workspace: str
    """Absolute, resolved."""
    root: str = ""
    """The root session of the tree that asks; empty: nobody's yet, somebody only wants to see the tools."""


class Asking(Protocol):
    """Puts before the person what a server asks while something of it is under way for them."""

    async def __call__(self, asked: Asked) -> Replied:
        """Wait until it is answered, or cannot be any more: then it is told as cancelled. Cancelling the wait takes it back."""
        ...

    def refuse(self, why: str) -> None:
        """It asked what is not put before anybody; whoever reads what came of it is told `why`."""
        ...
