"""What a line of shell would run in, for commands that tell and run nothing."""

import os
from collections.abc import Callable

from mcp_server.app import harmless
from mcp_server.cli.here import Here
from mcp_server.policy.chain import Authority
from mcp_server.sandbox.derive import Approval
from mcp_server.sandbox.enclosing import Enclosing, Enclosure

Enclose = Callable[[Approval], Enclosure]


def enclose_for(place: Here, held: Authority) -> Enclose:
    """As a server that is started now would do it. What back end there is, is tried when that is first asked for."""
    enclosing = Enclosing(place.settings.sandbox, place.places, harmless(os.environ))
    return lambda approval: enclosing.enclosure(held, str(place.workspace), "explain", approval)
