"""What is kept of other MCP servers: how each tool stood when it was pinned, and how each server was found last.

A part of `Store`, held by `tests/store/test_conformance_upstreams.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A tool as it stood when a person was first asked about it, or when it was last allowed."""

    digest: str
    """Of all that its server said of it."""
    definition: str
    """The same as text, for a difference."""
    at: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a server was found last, on behalf of one principal."""

    principal: str
    server: str
    said: str
    """JSON, whose shape is `protocol/upstream`'s."""
    at: float


class UpstreamMemory(Protocol):
    """The part of a store that keeps it. What it raises is what `Store` raises."""

    async def pin(self, principal: str, server: str, tool: str, pin: Pin, *, first: bool = False) -> None:
        """Keep it in place of the one before. `first`: only where there is none."""
        ...

    async def pins(self, principal: str, server: str) -> Mapping[str, Pin]:
        """By the tool's own name."""
        ...

    async def found(self, principal: str, server: str) -> Found | None: ...

    async def set_found(self, found: Found) -> None:
        """Keep it in place of the one before. Not synced: it permits nothing."""
        ...

    async def every_found(self) -> tuple[Found, ...]:
        """Of all principals and servers, in order."""
        ...

    async def pinned(self) -> Mapping[tuple[str, str], Mapping[str, Pin]]:
        """Every pin, by principal and server."""
        ...
