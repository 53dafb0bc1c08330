"""What becomes known of one HTTP request on its way in and out: for the access log and the numbers, never for a decision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEEN = "remit.seen"
"""The key in an ASGI scope under which a `Seen` stands."""


@dataclass(slots=True, kw_only=True)
class Seen:
    """One request. Filled in by whoever knows."""

    principal: str = ""
    """`Principal.key`; empty: nobody known."""
    teams: tuple[str, ...] = ()
    method: str = ""
    """Of MCP. Whatever the client wrote."""
    tool: str = ""
    """Likewise; of `tools/call` alone."""
    verdict: str = ""
    """What came of a call, or how far it is."""
    trace: str = ""
    """W3C `traceparent`."""


def seen_of(scope: Mapping[str, Any]) -> Seen:
    """The request's; one that nobody reads where there is none."""
    found = scope.get(SEEN)
    return found if isinstance(found, Seen) else Seen()


def client_of(scope: Mapping[str, Any]) -> str:
    """Where a request comes from, for the log."""
    client = scope.get("client")
    return client[0] if client else ""
