"""The table `audit`: append-only and numbered without gaps, which its triggers hold. Each function runs inside the caller's transaction."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcp_server.records import AuditEvent
from mcp_server.redaction import Redaction
from mcp_server.store import clock
from mcp_server.store.chain import NOBODY, Row, Trail
from mcp_server.store.codec import AUDIT
from mcp_server.store.protocol import StoredAudit
from mcp_server.store.rows import every

TOOL_NAME = re.compile(r"[\w-]{0,64}")
"""Anything else that a model takes for a tool may be any text."""

LONGEST_OUTCOME = 20_000
"""Characters. No model writes them, and what a provider says is short by then."""

_COLUMNS = "seq, at, kind, principal, session_id, root_id, record"


def append(connection: sqlite3.Connection, events: Sequence[AuditEvent], trail: Trail) -> None:
    """Number, chain and write them in order. The root is noted as it is now: a session that moves later leaves its past where it was."""
    if not events:
        return
    clock.heard(connection, max(event.at for event in events))
    seq = newest_seq(connection)
    roots = {event.session_id: _root(connection, event.session_id) for event in events}
    rows = [
        Row(
            seq=seq + place,
            at=event.at,
            kind=event.kind,
            principal=event.principal,
            session_id=event.session_id,
            root_id=roots[event.session_id],
            record=AUDIT.dump(_without_secrets(event, trail.redaction)),
        )
        for place, event in enumerate(events, start=1)
    ]
    connection.executemany(
        f"INSERT INTO audit ({_COLUMNS}, writer, place, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
        trail.extend(connection, rows),
    )


def _without_secrets(event: AuditEvent, redaction: Redaction) -> AuditEvent:
    """The event without what looks like a secret in its words. Rules may name a command as it was written. Arguments come without."""
    if TOOL_NAME.fullmatch(event.tool) is None:
        event = replace(event, tool=redaction.text(event.tool))
    return replace(
        event, rules=tuple(_rule(rule, redaction) for rule in event.rules), outcome=redaction.text(event.outcome, LONGEST_OUTCOME)
    )


def _rule(rule: str, redaction: Redaction) -> str:
    """`owner: rule`. Each by itself, as an owner called `key` says nothing of a rule."""
    owner, colon, named = rule.partition(": ")
    return f"{redaction.text(owner)}{colon}{redaction.text(named)}"


def _root(connection: sqlite3.Connection, session_id: str) -> str | None:
    found = connection.execute("SELECT root_id FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return None if found is None else found[0]


def newest_seq(connection: sqlite3.Connection) -> int:
    """The number of the newest event, be it retired by now; 0: there was none."""
    newest = connection.execute("SELECT max(seq) FROM audit").fetchone()[0]
    return newest if newest is not None else connection.execute("SELECT retired FROM trail").fetchone()[0]


def rows_between(connection: sqlite3.Connection, first: int, last: int) -> Iterator[Row]:
    """Events by their numbers, in that order, read as they are asked for."""
    found = connection.execute(
        f"SELECT {_COLUMNS}, coalesce(writer, :nobody), coalesce(place, 0), coalesce(hash, x'') FROM audit "  # noqa: S608 - constants
        "WHERE seq BETWEEN :first AND :last ORDER BY seq",
        {"nobody": NOBODY, "first": first, "last": last},
    )
    return map(Row._make, found)


def newest(
    connection: sqlite3.Connection, *, principal: str | None, root_id: str | None, session_id: str | None, before: int | None, limit: int
) -> tuple[StoredAudit, ...]:
    """The newest `limit` whose number is smaller than `before`, oldest of them first."""
    found = _those(connection, "DESC", principal=principal, root_id=root_id, session_id=session_id, before=before, limit=limit)
    return tuple(reversed(found))


def page(
    connection: sqlite3.Connection, *, principal: str | None, root_id: str | None, session_id: str | None, after: int, limit: int
) -> tuple[StoredAudit, ...]:
    """The oldest `limit` whose number is larger than `after`, in order."""
    return tuple(_those(connection, "ASC", principal=principal, root_id=root_id, session_id=session_id, after=after, limit=limit))


def _those(
    connection: sqlite3.Connection,
    order: str,
    *,
    principal: str | None,
    root_id: str | None,
    session_id: str | None,
    after: int = 0,
    before: int | None = None,
    limit: int,
) -> list[StoredAudit]:
    given = (("principal", principal), ("root_id", root_id), ("session_id", session_id))
    conditions = " AND ".join(
        ["seq > :after", "(:before IS NULL OR seq < :before)", *(f"{column} = :{column}" for column, value in given if value is not None)]
    )
    rows = every(
        connection,
        f"SELECT seq, record FROM audit WHERE {conditions} ORDER BY seq {order} LIMIT :limit",  # noqa: S608 - names of our own
        {"principal": principal, "root_id": root_id, "session_id": session_id, "after": after, "before": before, "limit": max(limit, 0)},
    )
    return [StoredAudit(seq=row[0], event=AUDIT.load(row[1], row[0])) for row in rows]
