"""What one process knows of one server on behalf of one principal: its tools, how it did, and when to try it again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcp_server.protocol.upstream.link import Link
from mcp_server.protocol.upstream.naming import Definition
from mcp_server.protocol.upstream.notes import Noted, Use, noted, origin_of
from mcp_server.protocol.upstream.shelf import Listed
from mcp_server.settings.upstream import Upstream
from mcp_server.store.protocol import Store
from mcp_server.store.upstreams import Found
from mcp_server.tools.shelves import Shelf

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two attempts at a server that cannot be reached: doubled each time, and no more than a person waits for."""

KEPT_SECONDS = 1.0
"""How long a list waits for a server whose offers are known from before."""

SHORT_LIFE = 5.0
"""Seconds. A connection that is lost sooner counts as one that could not be made."""


@dataclass(slots=True, kw_only=True)
class Standing:
    """One server, for one owner."""

    server: str
    config: Upstream
    owner: str
    """A principal; empty: everybody."""
    noted: Noted
    tools: Mapping[str, Definition] | None = None
    """As listed in this process. None: not yet."""
    kept: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    """As an earlier process listed them."""
    shelf: Shelf | None = None
    """What it offers beside them, as it or an earlier process listed it. None: nobody knows yet."""
    shelved: bool = False
    """It was listed in this process."""
    failures: int = 0
    """In a row."""
    failed_born: float = float("-inf")
    """When the connection was begun that failed last, by the steady clock."""
    retry_at: float = 0.0
    """By the steady clock."""
    dirty: bool = False

    @property
    def known(self) -> Mapping[str, Definition]:
        """Its tools as far as anybody knows them."""
        return self.kept if self.tools is None else self.tools

    def listed(self, link: Link) -> None:
        """A connection listed them."""
        self.tools = link.tools
        self.noted.era = link.era
        self.noted.left_out = list(link.left_out)
        self.noted.tools = [one.said for one in link.tools.values()]
        self.dirty = True

    def set_shelf(self, listed: Listed) -> None:
        """A connection listed what it offers beside its tools."""
        if listed is not self.noted.shelf:
            self.noted.shelf, self.shelf, self.dirty = listed, listed.shelf(self.server), True
        self.shelved = True

    def connected(self, link: Link, now: float, took: float) -> None:
        """It was reached."""
        self.listed(link)
        self.noted.state, self.noted.failure, self.noted.connected_at, self.noted.handshake = "connected", "", now, took
        self.retry_at = 0.0

    def parted(self, link: Link, now: float, steady: float) -> None:
        """A connection is over, or was never made."""
        self.dirty = True
        lost = link.failure != ""
        if not lost and link.born < self.failed_born:
            return  # that it ended in peace says nothing of one that was begun later
        self.noted.state = "failed" if lost else "at rest"
        if not lost:
            self.failures = 0
            return
        self.noted.failure, self.noted.failed_at, self.failed_born = link.failure, now, link.born
        if link.unset or (link.era and steady - link.born >= SHORT_LIFE):
            self.failures = 0  # it is tried again at once
            return
        self.failures += 1
        self.retry_at = steady + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self.failures - 1, 10))

    def rest(self) -> None:
        """Whatever was connected is not any more, and nobody lost it."""
        if self.noted.state == "connected":
            self.noted.state, self.dirty = "at rest", True

    def used(self, tool: str, *, seconds: float, failed: bool) -> None:
        """A call has come to its end."""
        use = self.noted.use.setdefault(tool, Use())
        use.calls += 1
        use.failed += failed
        use.seconds += seconds
        use.slowest = max(use.slowest, seconds)
        self.dirty = True

    async def keep(self, store: Store, clock: Callable[[], float]) -> None:
        """Write down what has changed."""
        if self.dirty:
            self.dirty = False
            await store.set_found(Found(principal=self.owner, server=self.server, said=self.noted.text(), at=clock()))


async def standing_of(store: Store, server: str, config: Upstream, owner: str) -> Standing:
    """As an earlier process left it."""
    found = await store.found(owner, server)
    before, origin = noted(None if found is None else found.said), origin_of(config)
    if before.origin != origin:
        before = Noted(origin=origin)
    shelf = None if before.shelf is None else before.shelf.shelf(server)
    return Standing(server=server, config=config, owner=owner, noted=before, kept=before.known(server), shelf=shelf)
