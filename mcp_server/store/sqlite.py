"""The store on SQLite: the methods of `Store`, each one statement or one transaction on the connection.

What a row looks like is `*_rows`; waiting, committing and errors are `connection`.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from mcp_server.errors import StoreDamaged
from mcp_server.policy.verdicts import RulingId, SessionId
from mcp_server.records import (
    Answer,
    AuditEvent,
    Entry,
    Prompt,
    PromptId,
    PromptState,
    RulingRecord,
    RunId,
    RunRecord,
    SessionRecord,
    StoredEntry,
)
from mcp_server.store import ledger_rows, prompt_rows, ruling_rows, run_rows, session_rows
from mcp_server.store.connection import WAIT_SECONDS, Database
from mcp_server.store.ledger import Charge, Place
from mcp_server.store.parts import SqliteParts
from mcp_server.store.protocol import Lease, Store


def open_store(path: str | Path, *, wait_seconds: float = WAIT_SECONDS, secrets: Sequence[str] = ()) -> "SqliteStore":
    """Open the store at `path`, making and migrating it where needed. Raises what `Database` raises. `secrets`: values that its audit
    must never hold, longest first.

    Not to be called while the loop serves anybody: it may block up to `wait_seconds` where another process migrates.
    """
    return SqliteStore(Database(Path(path), wait_seconds=wait_seconds), secrets)


KEPT_CHAINS = 256
"""More than act at once; each is a few hundred bytes."""


class SqliteStore(SqliteParts, Store):
    """One handle on one file. Several, in several processes, may stand on the same file; each belongs to one thread."""

    def __init__(self, database: Database, secrets: Sequence[str] = ()) -> None:
        super().__init__(database, secrets)
        self._chains: dict[SessionId, tuple[SessionRecord, ...]] = {}
        """As they were read, until a session may have changed."""
        self._chains_read_at = -1

    # sessions

    async def add_session(self, session: SessionRecord) -> None:
        await self._db.write(session_rows.add, session)
        self._chains.pop(session.id, None)

    async def session(self, session_id: str, principal: str) -> SessionRecord | None:
        return await self._db.read(session_rows.get, session_id, principal)

    async def update_session(self, session: SessionRecord) -> None:
        await self._db.write(session_rows.update, session)
        self._chains.clear()

    async def chain(self, session_id: SessionId) -> tuple[SessionRecord, ...]:
        elsewhere = await self._db.changed_elsewhere()
        if elsewhere != self._chains_read_at or len(self._chains) >= KEPT_CHAINS:
            self._chains.clear()
            self._chains_read_at = elsewhere
        known = self._chains.get(session_id)
        if known is None:
            known = self._chains[session_id] = await self._db.read(session_rows.chain, session_id)
        return known

    async def children(self, session_id: SessionId) -> tuple[SessionRecord, ...]:
        return await self._db.read(session_rows.children, session_id)

    async def sessions(
        self, principal: str, *, workspace: str | None = None, roots: bool = False, limit: int = 200
    ) -> tuple[SessionRecord, ...]:
        return await self._db.read(session_rows.of_principal, principal, workspace=workspace, roots=roots, limit=limit)

    async def principals(self, beginning: str) -> tuple[str, ...]:
        return await self._db.read(session_rows.principals, beginning)

    # runs

    async def add_run(self, run: RunRecord, entries: Sequence[Entry]) -> None:
        await self._db.write(run_rows.add, run, entries)

    async def add_child(
        self, session: SessionRecord, run: RunRecord, entries: Sequence[Entry], events: Sequence[AuditEvent], places: Sequence[Place] = ()
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            session_rows.refuse_if_ended(connection, session.root_id)
            session_rows.add(connection, session)
            run_rows.add(connection, run, entries)
            ledger_rows.take(connection, run, places)
            self.chained(connection, events)

        await self._db.write(work)
        self._chains.pop(session.id, None)

    async def resume_child(
        self, session: SessionRecord, run: RunRecord, entries: Sequence[Entry], events: Sequence[AuditEvent], places: Sequence[Place] = ()
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            session_rows.refuse_if_ended(connection, session.root_id)
            if run_rows.goes_on(connection, session.id):
                return False
            session_rows.update(connection, session)
            run_rows.add(connection, run, entries)
            ledger_rows.take(connection, run, places)
            self.chained(connection, events)
            return True

        resumed = await self._db.write(work)
        self._chains.clear()
        return resumed

    async def run(self, run_id: RunId) -> RunRecord | None:
        return await self._db.read(run_rows.get, run_id)

    async def latest_run(self, session_id: SessionId) -> RunRecord | None:
        return await self._db.read(run_rows.latest, session_id)

    async def busy_children(self, session_id: SessionId) -> int:
        return await self._db.read(run_rows.busy_children, session_id)

    async def unfinished_runs(self, *, workspaces: Sequence[str] | None = None, root_id: SessionId | None = None) -> tuple[RunRecord, ...]:
        return await self._db.read(run_rows.unfinished, workspaces=workspaces, root_id=root_id)

    async def claim(self, run_id: RunId, *, owner: str, now: float, seconds: float) -> Lease | None:
        return await self._db.write_unsynced(run_rows.claim, run_id, owner, now, seconds)

    async def release(self, lease: Lease) -> None:
        await self._db.write_unsynced(run_rows.release, lease)

    async def save_run(
        self,
        run: RunRecord,
        lease: Lease,
        *,
        now: float,
        entries: Sequence[Entry] = (),
        events: Sequence[AuditEvent] = (),
        uses: Sequence[RulingId] = (),
        charge: Charge | None = None,
        synced: bool = True,
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            run_rows.check_lease(connection, run, lease)
            if not ruling_rows.use(connection, uses, now):
                return False
            run_rows.save(connection, run, entries, now)
            ledger_rows.add(connection, charge, now)
            self.chained(connection, events)
            return True

        return await (self._db.write if synced else self._db.write_unsynced)(work)

    async def request_cancel(self, run_id: RunId, by: str) -> None:
        await self._db.write(run_rows.request_cancel, run_id, by)

    # transcript

    async def transcript(self, session_id: SessionId, *, after: int = 0) -> tuple[StoredEntry, ...]:
        return await self._db.read(run_rows.transcript, session_id, after)

    # prompts

    async def add_prompt(self, prompt: Prompt, events: Sequence[AuditEvent] = (), *, lease: Lease | None = None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if lease is not None:
                run_rows.check_held(connection, lease)
            prompt_rows.add(connection, prompt)
            self.chained(connection, events)

        await self._db.write(work)

    async def prompt(self, prompt_id: str, principal: str) -> Prompt | None:
        return await self._db.read(prompt_rows.get, prompt_id, principal)

    async def prompts(
        self,
        *,
        principal: str | None = None,
        root_id: SessionId | None = None,
        session_id: SessionId | None = None,
        digest: str | None = None,
        state: PromptState | None = None,
    ) -> tuple[Prompt, ...]:
        return await self._db.read(
            prompt_rows.those, principal=principal, root_id=root_id, session_id=session_id, digest=digest, state=state
        )

    async def join_prompt(self, prompt_id: PromptId, call_id: str) -> bool:
        return await self._db.write(prompt_rows.join, prompt_id, call_id)

    async def mark_shown(self, prompt_id: PromptId, *, at: float, deadline: float) -> Prompt | None:
        return await self._db.write(prompt_rows.mark_shown, prompt_id, at, deadline)

    async def close_prompt(
        self,
        prompt_id: PromptId,
        state: PromptState,
        *,
        answer: Answer | None = None,
        reason: str = "",
        rulings: Sequence[RulingRecord] = (),
        events: Sequence[AuditEvent] = (),
    ) -> bool:
        if state is PromptState.OPEN:
            raise ValueError("a prompt is closed by another state than `open`")

        def work(connection: sqlite3.Connection) -> bool:
            if not prompt_rows.close(connection, prompt_id, state, answer, reason):
                return False
            ruling_rows.add(connection, rulings)
            self.chained(connection, events)
            return True

        return await self._db.write(work)

    async def forget_words(self, prompt_id: PromptId) -> None:
        await self._db.write(prompt_rows.forget_words, prompt_id)

    # rulings

    async def add_rulings(self, rulings: Sequence[RulingRecord], events: Sequence[AuditEvent]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            ruling_rows.add(connection, rulings)
            self.chained(connection, events)

        await self._db.write(work)

    async def rulings(
        self, *, principal: str, session_ids: Sequence[SessionId] | None = None, standing_at: float | None = None
    ) -> tuple[RulingRecord, ...]:
        return await self._db.read(ruling_rows.of_principal, principal, session_ids=session_ids, standing_at=standing_at)

    async def use_rulings(self, ids: Sequence[RulingId], *, now: float, events: Sequence[AuditEvent]) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if not ruling_rows.use(connection, ids, now):
                return False
            self.chained(connection, events)
            return True

        return await self._db.write(work)

    async def revoke(self, ruling_id: str, *, principal: str, now: float, events: Sequence[AuditEvent]) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if not ruling_rows.revoke(connection, ruling_id, principal, now):
                return False
            self.chained(connection, events)
            return True

        return await self._db.write(work)

    # small state of a session

    async def state(self, session_id: SessionId, key: str) -> str | None:
        return await self._db.read(session_rows.state, session_id, key)

    async def set_state(self, session_id: SessionId, key: str, value: str, *, synced: bool = True) -> None:
        await (self._db.write if synced else self._db.write_unsynced)(session_rows.set_state, session_id, key, value)

    # retention

    async def forget_tree(self, root_id: SessionId) -> tuple[SessionId, ...]:
        gone = await super().forget_tree(root_id)
        self._chains.clear()
        return gone

    # life

    async def changed(self) -> int:
        return await self._db.changed()

    async def changed_elsewhere(self) -> int:
        return await self._db.changed_elsewhere()

    async def faults(self) -> tuple[str, ...]:
        """What SQLite finds wrong in the file, a line each; reads all of it, so not for every day."""
        try:
            return await self._db.read(_faults)
        except StoreDamaged as error:
            return (str(error),)

    async def close(self) -> None:
        try:
            await self.seal_the_last()
        finally:
            self._db.close()


def _faults(connection: sqlite3.Connection) -> tuple[str, ...]:
    found = [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall() if row[0] != "ok"]
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return (*found, *(f"row {row[1]} of {row[0]} refers to something that is not there" for row in broken))
