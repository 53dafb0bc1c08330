"""URIs of other servers as they are offered here: below one of Remit's own, so that no server's can pass for another's or for Remit's."""

import re

from mcp_server.protocol.upstream.cleaning import cleaned
from mcp_server.tools.uris import climbs

BELOW = "remit://servers/"

LONGEST_URI = 2000
"""Characters of a server's own. Longer ones hold what they name, and no host keeps them."""

_OFFERED = re.compile(re.escape(BELOW) + r"([A-Za-z0-9_-]+)/(.+)")


def offered_uri(server: str, own: str) -> str:
    """A server's URI as it is offered here: its own, unchanged, below the server's name."""
    return f"{BELOW}{server}/{own}"


def read_uri(uri: str) -> tuple[str, str] | None:
    """The server and its own URI, of one that is offered here. None: it is none."""
    found = _OFFERED.fullmatch(uri)
    return None if found is None or not fit(found[2]) else (found[1], found[2])


def fit(own: str) -> bool:
    """Can it be offered? It is shown to people, and matched against rules, exactly as it is."""
    return 0 < len(own) <= LONGEST_URI and own == cleaned(own) and not any(mark in own for mark in "\n\t") and not climbs(own)
