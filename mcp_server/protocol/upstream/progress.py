"""What a server says of a call under way, passed on at a pace that a person can follow."""

import math
from collections.abc import Awaitable, Callable

import anyio

from mcp_server.protocol.upstream.cleaning import in_line
from mcp_server.tools.base import Step

PROGRESS_SECONDS = 0.25
"""Between two words of progress that are passed on, once the first few were. A server may send thousands."""

PROGRESS_AT_ONCE = 20

LONGEST = 200
"""Characters of one."""


class Progress:
    """Of one call."""

    def __init__(self, tell: Callable[[Step], Awaitable[None]]) -> None:
        self._tell = tell
        self._left = float(PROGRESS_AT_ONCE)
        self._at = anyio.current_time()
        self._said = ""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """So much is done."""
        if math.isfinite(progress) and self._room():
            whole = total if total is not None and math.isfinite(total) else None
            await self._tell(Step(text=in_line(message or "", LONGEST), done=progress, total=whole))

    async def say(self, words: str) -> None:
        """How it is, where nothing is counted. The same words again say nothing."""
        line = in_line(words, LONGEST)
        if line and line != self._said and self._room():
            self._said = line
            await self._tell(Step(text=line))

    def _room(self) -> bool:
        now = anyio.current_time()
        self._left, self._at = min(PROGRESS_AT_ONCE, self._left + (now - self._at) / PROGRESS_SECONDS), now
        if self._left < 1:
            return False
        self._left -= 1
        return True
