"""The table `promised`: client's calls that outlive their request. The methods of the store, and the rows behind them.

The columns `owner`, `lease_until` and `cancel_requested` are the truth, whatever the record beside them says.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from mcp_server.errors import LeaseLost
from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import AuditEvent, CallEnded, PromptId
from mcp_server.store import audit_rows, ruling_rows
from mcp_server.store.chain import Trail
from mcp_server.store.codec import PROMISED
from mcp_server.store.connection import Database
from mcp_server.store.promised import PromisedCall, PromisedCalls
from mcp_server.store.rows import every, first, listed

_SELECT = "SELECT id, record, owner, lease_until, cancel_requested FROM promised"


class SqlitePromised(PromisedCalls):
    """The part of the SQLite store that keeps promised calls."""

    _db: Database
    _trail: Trail

    async def add_promised(self, promised: PromisedCall) -> None:
        await self._db.write(_add, promised)

    async def promised(self, call_id: str, principal: str) -> PromisedCall | None:
        return await self._db.read(_get, call_id, principal)

    async def promised_open(self, *, workspaces: Sequence[str] | None = None, principal: str | None = None) -> tuple[PromisedCall, ...]:
        return await self._db.read(_not_over, workspaces, principal)

    async def claim_promised(self, call_id: CallId, *, owner: str, now: float, seconds: float) -> PromisedCall | None:
        return await self._db.write_unsynced(_claim, call_id, owner, now, seconds)

    async def park_promised(self, call_id: CallId, *, owner: str, now: float, waits_for: str | None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            record = _held(connection, call_id, owner)
            if record is not None and not record.is_over:
                _save(connection, replace(record, updated_at=now, waits_for=waits_for, owner=None, lease_until=None))

        await self._db.write_unsynced(work)

    async def begin_promised(
        self, call_id: CallId, *, owner: str, now: float, events: Sequence[AuditEvent], uses: Sequence[RulingId]
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            record = _surely_held(connection, call_id, owner)
            if not ruling_rows.use(connection, uses, now):
                return False
            _save(connection, replace(record, updated_at=now, begun=True))
            audit_rows.append(connection, events, self._trail)
            return True

        return await self._db.write(work)

    async def end_promised(
        self,
        call_id: CallId,
        *,
        owner: str,
        now: float,
        ended: CallEnded | None,
        fault: str | None = None,
        events: Sequence[AuditEvent] = (),
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            record = _surely_held(connection, call_id, owner)
            if record.is_over:
                return
            _save(connection, replace(record, updated_at=now, ended=ended, fault=fault, waits_for=None))
            audit_rows.append(connection, events, self._trail)

        await self._db.write(work)

    async def put_off_promised(self, call_id: str, principal: str, prompts: Sequence[PromptId], *, now: float) -> None:
        def work(connection: sqlite3.Connection) -> None:
            record = _get(connection, call_id, principal)
            if record is not None and not record.is_over:
                _save(connection, replace(record, updated_at=now, put_off=tuple(dict.fromkeys((*record.put_off, *prompts)))))

        await self._db.write(work)

    async def cancel_promised(self, call_id: str, principal: str, by: str, *, now: float) -> None:
        def work(connection: sqlite3.Connection) -> None:
            record = _get(connection, call_id, principal)
            if record is not None and not record.is_over and record.cancel_requested is None:
                _save(connection, replace(record, updated_at=now, cancel_requested=by))

        await self._db.write(work)

    async def drop_promised(self, *, ended_before: float) -> int:
        return await self._db.write(_drop, ended_before)


def _record(row: sqlite3.Row) -> PromisedCall:
    key, text, owner, lease_until, cancel_requested = row
    return replace(PROMISED.load(text, key), owner=owner, lease_until=lease_until, cancel_requested=cancel_requested)


def _add(connection: sqlite3.Connection, promised: PromisedCall) -> None:
    connection.execute(
        "INSERT INTO promised (id, root_id, principal, workspace, created_at, updated_at, final, owner, lease_until, cancel_requested, "
        "record) VALUES (:id, :root, :principal, :workspace, :created, :updated, :final, :owner, :until, :cancel, :record)",
        {"root": promised.root_id, "principal": promised.principal, "workspace": promised.workspace, "created": promised.created_at}
        | _columns(promised),
    )


def _columns(promised: PromisedCall) -> dict[str, str | float | None]:
    """What may change."""
    return {
        "id": promised.id,
        "updated": promised.updated_at,
        "final": promised.is_over,
        "owner": promised.owner,
        "until": promised.lease_until,
        "cancel": promised.cancel_requested,
        "record": PROMISED.dump(promised),
    }


def _save(connection: sqlite3.Connection, promised: PromisedCall) -> None:
    connection.execute(
        "UPDATE promised SET updated_at = :updated, final = :final, owner = :owner, lease_until = :until, cancel_requested = :cancel, "
        "record = :record WHERE id = :id",
        _columns(promised),
    )


def _get(connection: sqlite3.Connection, call_id: str, principal: str) -> PromisedCall | None:
    row = first(connection, f"{_SELECT} WHERE id = :id AND principal = :principal", {"id": call_id, "principal": principal})
    return None if row is None else _record(row)


def _not_over(connection: sqlite3.Connection, workspaces: Sequence[str] | None, principal: str | None) -> tuple[PromisedCall, ...]:
    rows = every(
        connection,
        f"{_SELECT} WHERE final = 0 AND (:workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces))) "  # noqa: S608 - constants
        "AND (:principal IS NULL OR principal = :principal) ORDER BY created_at, rowid",
        {"workspaces": listed(workspaces), "principal": principal},
    )
    return tuple(_record(row) for row in rows)


def _claim(connection: sqlite3.Connection, call_id: CallId, owner: str, now: float, seconds: float) -> PromisedCall | None:
    row = first(connection, f"{_SELECT} WHERE id = :id AND final = 0", {"id": call_id})
    if row is None:
        return None
    record = _record(row)
    until = record.lease_until
    # One that ends later than any lease can was given before a clock was set back.
    if record.owner not in (None, owner) and until is not None and now < until <= now + seconds:
        return None
    held = replace(record, owner=owner, lease_until=now + seconds)
    _save(connection, held)
    return held


def _held(connection: sqlite3.Connection, call_id: CallId, owner: str) -> PromisedCall | None:
    row = first(connection, f"{_SELECT} WHERE id = :id AND owner = :owner", {"id": call_id, "owner": owner})
    return None if row is None else _record(row)


def _surely_held(connection: sqlite3.Connection, call_id: CallId, owner: str) -> PromisedCall:
    record = _held(connection, call_id, owner)
    if record is None:
        raise LeaseLost(f"call {call_id} is another process's now; nothing was written")
    return record


def _drop(connection: sqlite3.Connection, ended_before: float) -> int:
    return connection.execute("DELETE FROM promised WHERE final = 1 AND updated_at < ?", (ended_before,)).rowcount
