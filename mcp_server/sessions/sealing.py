"""Having the audit signed while a server runs: after so many events, or so long after the last time. Never on the way of a call."""

from collections.abc import Callable

import anyio
import structlog

from mcp_server.errors import StoreError
from mcp_server.store.protocol import Store

log = structlog.get_logger()

BEAT = 5.0
"""Seconds between two looks; each costs nothing."""

MANY = 1000
"""Events after which a checkpoint is made at the next beat: what is not signed yet stays little, and a checkpoint costs two flushes."""

LONGEST = 60.0
"""Seconds that an event waits for its checkpoint. A server that is always busy writes half a kilobyte a minute so."""


class Sealer:
    """Has one store signed for one server. Closing the store signs what is left."""

    def __init__(self, store: Store, steady: Callable[[], float]) -> None:
        self._store = store
        self._steady = steady
        self._due = steady() + LONGEST
        self._first = True
        """The first time also what a server before this one may have left."""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await anyio.sleep(BEAT)
            await self.look()

    async def look(self) -> None:
        """Sign where it is due. What cannot be signed is logged, and tried again when it is due next."""
        waiting = self._store.unsealed
        late = self._steady() >= self._due
        if waiting < MANY and not (late and (waiting or self._first)):
            return
        self._due = self._steady() + LONGEST
        self._first = False
        try:
            await self._store.seal_audit()
        except StoreError as error:
            log.error("the audit could not be signed", error=str(error))
