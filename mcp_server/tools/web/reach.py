"""What a deployment has of the web."""

from dataclasses import dataclass, field

from mcp_server.tools.web.search import SearchProvider
from mcp_server.tools.web.wires import Wires


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """How it is reached and searched."""

    wires: Wires = field(default_factory=Wires)
    search: SearchProvider | None = None
    """None: `websearch` is not offered."""
