"""What a gateway is lent of everything else in its process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp_server.gateway.door import Came
from mcp_server.gateway.reception import Reception
from mcp_server.gateway.servers import Rooms, Servers
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.store.protocol import Store
from mcp_server.telemetry.base import Scrape, Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """See above."""

    store: Store
    pages: Store | None
    """A handle of its own for the console: what another handle commits is what wakes the server's runs. None: no console."""
    home: str
    """What `$HOME` stands for in lines of shell on its pages."""
    reception: Reception
    """Says who calls, where, and as what."""
    telemetry: Telemetry
    scrape: Scrape | None
    """None: nobody reads numbers here."""
    tools: Sequence[str]
    signs: SignIns
    """Sign-ins of people to other servers."""
    servers: Servers
    """The other servers, as settings name them now."""
    came: Came
    """Told of the token that each request came with."""
    part: Callable[[], None]
    """Has requests that only wait leave."""
    notes: Callable[[], Sequence[str]]
    """What is wrong with settings that changed, and which wait for a restart."""
    reread: Callable[[], None]
    """Read settings and agents now, whether or not files look changed. What is wrong with them is logged."""

    @property
    def rooms(self) -> Rooms:
        """Where the console's navigation leads."""
        return Rooms(self.signs, self.servers)
