"""News of other MCP servers: that what one offers may not be what it was, or that a link is done with. What it is now, is for whoever hears
of it to look up.
"""

from collections import Counter, deque
from typing import Literal

import anyio

Kind = Literal["tools", "prompts", "resources"]

KINDS: tuple[Kind, ...] = ("tools", "prompts", "resources")


MOST_FINISHED = 1000
"""Links that are remembered as done with: whoever waits for one looks at once."""


class News:
    """Of a whole deployment. Costs a server that says it a thousand times no more than once."""

    def __init__(self) -> None:
        self._counts = Counter[tuple[str, Kind]]()
        self._finished = deque[str](maxlen=MOST_FINISHED)
        self.total = 0
        """How often anything was said."""
        self._changed = anyio.Event()

    def tell(self, owner: str, kind: Kind) -> None:
        """It may have changed. `owner`: on whose behalf that server is asked; empty: everybody's."""
        self._counts[owner, kind] += 1
        self.ring()

    def ring(self) -> None:
        """Something changed that whoever watches it counts by itself."""
        self.total += 1
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def finish(self, ref: str) -> None:
        """A server says that a link which it wanted opened is done with. `ref`: `LinkAsked.ref`."""
        self._finished.append(ref)
        self.ring()

    def finished(self, ref: str) -> bool:
        """Has that been said lately?"""
        return ref in self._finished

    async def until_finished(self, ref: str) -> None:
        """Until that is said."""
        while not self.finished(ref):
            await self.after(self.total)

    def count(self, principal: str, kind: Kind) -> int:
        """How often that was said of what a principal is offered."""
        return self._counts[principal, kind] + self._counts["", kind]

    async def after(self, seen: int) -> None:
        """Until something is said, of whomever's, beyond a total that was seen."""
        while self.total <= seen:
            await self._changed.wait()
