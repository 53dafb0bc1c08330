"""How somebody's sessions found another server last: for `remit upstreams` and for the console. Connects to none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcp_server.protocol.upstream.naming import Definition
from mcp_server.protocol.upstream.notes import Noted, Use, noted, origin_of
from mcp_server.settings.upstream import Upstream
from mcp_server.store.protocol import Store
from mcp_server.store.upstreams import Found, Pin
from mcp_server.tools.shelves import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One server."""

    name: str
    config: Upstream
    noted: Noted
    tools: Mapping[str, Definition]
    """By their own names, as they were listed last."""
    shelf: Shelf | None
    """What it offers beside them. None: nobody has asked yet."""
    pins: Sequence[Mapping[str, Pin]]
    """By the tool's offered name; one map for each program that somebody came with."""

    @property
    def state(self) -> str:
        """In a word or a few."""
        return self.noted.state or "not used yet"

    @property
    def left_out(self) -> Sequence[str]:
        """What of it cannot be offered, a line each."""
        return (*self.noted.left_out, *(self.shelf.left_out if self.shelf is not None else ()))

    @property
    def used(self) -> Use:
        """All calls of it together."""
        return _sum(self.noted.use.values())

    def use_of(self, tool: str) -> Use:
        """By the tool's own name."""
        return self.noted.use.get(tool, Use())

    def pin_of(self, tool: str) -> str:
        """Whether it is as it was when it was pinned. By the tool's own name."""
        now = self.tools[tool].tool
        digests = {pins[now.name].digest for pins in self.pins if now.name in pins}
        if not digests:
            return "none yet"
        return "as it is" if digests == {now.digest} else "changed: asks"


def average_of(use: Use) -> str:
    """Seconds of one call; empty: there was none."""
    return f"{use.seconds / use.calls:.3f} s" if use.calls else ""


async def seen(store: Store, principals: Sequence[str], name: str, config: Upstream) -> Seen:
    """A server as the sessions of these principals found it, or everybody's where one is for all. The newest counts, calls are added up."""
    rows = [await store.found(key, name) for key in (("",) if config.shareable else principals)]
    kept = [noted(row.said) for row in sorted((row for row in rows if row is not None), key=_when)]
    mine = [one for one in kept if one.origin == origin_of(config)]
    newest = mine[-1] if mine else Noted()
    tools = {tool for one in mine for tool in one.use}
    whole = newest.model_copy(update={"use": {tool: _sum(one.use.get(tool, Use()) for one in mine) for tool in tools}})
    shelf = next((one.shelf for one in reversed(mine) if one.shelf is not None), None)
    pins = [await store.pins(key, name) for key in principals]
    return Seen(
        name=name, config=config, noted=whole, tools=whole.known(name), shelf=None if shelf is None else shelf.shelf(name), pins=pins
    )


def _when(row: Found) -> float:
    return row.at


def _sum(uses: Iterable[Use]) -> Use:
    every = list(uses)
    return Use(
        calls=sum(use.calls for use in every),
        failed=sum(use.failed for use in every),
        seconds=sum(use.seconds for use in every),
        slowest=max((use.slowest for use in every), default=0.0),
    )
