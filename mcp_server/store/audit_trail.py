"""The part of the SQLite store that keeps the audit: writing, reading, signing, retiring and proving it."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress

import anyio.lowlevel

from mcp_server.errors import StoreError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import AuditEvent
from mcp_server.store import audit_rows, sealing, verifying
from mcp_server.store.chain import Trail
from mcp_server.store.connection import Database
from mcp_server.store.faults import from_os
from mcp_server.store.proof import Proof
from mcp_server.store.protocol import StoredAudit
from mcp_server.store.seals import SealFile

AT_THE_END = 4
"""Segments signed at most when a handle is closed, so that the first closing of an old, large store is no long wait."""


class SqliteAudit:
    """What `Store` promises of the audit."""

    def __init__(self, database: Database, secrets: Sequence[str] = ()) -> None:
        self._db = database
        self._trail = Trail(secrets)

    def chained(self, connection: sqlite3.Connection, events: Sequence[AuditEvent]) -> None:
        """Write them inside the caller's transaction."""
        audit_rows.append(connection, events, self._trail)

    async def audit(self, events: Sequence[AuditEvent], *, synced: bool = True) -> None:
        if events:
            await (self._db.write if synced else self._db.write_unsynced)(self.chained, events)

    async def audit_log(
        self,
        *,
        principal: str | None = None,
        root_id: SessionId | None = None,
        session_id: SessionId | None = None,
        before: int | None = None,
        limit: int = 1000,
    ) -> tuple[StoredAudit, ...]:
        wanted = {"principal": principal, "root_id": root_id, "session_id": session_id}
        return await self._db.read(audit_rows.newest, **wanted, before=before, limit=limit)

    async def audit_page(
        self,
        *,
        principal: str | None = None,
        root_id: SessionId | None = None,
        session_id: SessionId | None = None,
        after: int,
        limit: int = 1000,
    ) -> tuple[StoredAudit, ...]:
        return await self._db.read(audit_rows.page, principal=principal, root_id=root_id, session_id=session_id, after=after, limit=limit)

    @property
    def unsealed(self) -> int:
        return self._trail.unsealed

    async def seal_audit(self) -> None:
        await self._seal(segments=None)

    async def seal_the_last(self) -> None:
        """When this handle is closed: sign what it has written. What is not signed then is signed by whoever comes next."""
        if self._trail.unsealed:
            with suppress(StoreError):
                await self._seal(segments=AT_THE_END)

    async def _seal(self, *, segments: int | None) -> None:
        file = SealFile(self._db.path)
        try:
            upto = await self._db.write(sealing.announce, file)
            self._trail.unsealed = 0
            left = upto is not None
            while left and upto is not None:
                left = await self._db.write(sealing.seal, file, upto, time.time())
                segments = None if segments is None else segments - 1
                if segments == 0:
                    return
                if left:
                    await anyio.lowlevel.checkpoint()
        except OSError as error:
            raise from_os(file.path, error) from error

    async def retire_audit(self, *, before: float) -> int:
        file = SealFile(self._db.path)
        try:
            ends = sealing.retirable(file, before)
            if not ends:
                return 0
            await self._db.write(sealing.promise_to_retire, file, ends[-1], time.time())
        except OSError as error:
            raise from_os(file.path, error) from error
        return sum([await self._db.write(sealing.retire, end) for end in ends])

    async def prove_audit(self, *, noted: str | None = None) -> Proof:
        file = SealFile(self._db.path)
        before = await self._db.read(sealing.state)  # first: what is signed by now must be in the file when that is read next
        try:
            reading = verifying.doubtful(file, noted)
        except OSError as error:
            raise from_os(file.path, error) from error
        return await self._db.read(_proven, reading, before.sealed)


def _proven(connection: sqlite3.Connection, reading: verifying.Reading, sealed: int) -> Proof:
    """In one view of the database, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        return verifying.verify(connection, reading, sealed)
    finally:
        connection.execute("ROLLBACK")
