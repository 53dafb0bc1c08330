"""Audit events for other programs: one JSON object a line, every field by name, or in the words of OCSF."""

from collections.abc import AsyncGenerator, Sequence
from importlib.metadata import version
from typing import Any, Literal

from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.ocsf import as_ocsf
from mcp_server.sessions.searching import Filter
from mcp_server.sessions.visible import json_line
from mcp_server.store.protocol import Store, StoredAudit

Form = Literal["jsonl", "ocsf"]
FORMS: tuple[Form, ...] = ("jsonl", "ocsf")

PAGE = 1000
"""Events read at once: an export may be of any length, and memory does not grow with it."""


async def exported(
    store: Store,
    wants: Filter,
    *,
    form: Form,
    principals: Sequence[str],
    session_id: SessionId | None = None,
    root_id: SessionId | None = None,
) -> AsyncGenerator[str]:
    """Each event of these principals that is wanted as one line, oldest first, up to the one that is the newest now."""
    release = version("remit")
    newest = await store.audit_log(limit=1)
    after, end = 0, newest[-1].seq if newest else 0
    while after < end:
        events: list[StoredAudit] = []
        for one in principals:
            events += await store.audit_page(principal=one, session_id=session_id, root_id=root_id, after=after, limit=PAGE)
        events = sorted(events, key=lambda stored: stored.seq)[:PAGE]
        for stored in events:
            if stored.seq <= end and wants(stored.event):
                told = as_object(stored)
                yield json_line(as_ocsf(stored, told, release) if form == "ocsf" else told)
        after = events[-1].seq if events else end


def as_object(stored: StoredAudit) -> dict[str, Any]:
    """One event with every field, actions and steps as words."""
    event = stored.event
    return {
        "seq": stored.seq,
        "at": event.at,
        "kind": event.kind,
        "principal": event.principal,
        "session": event.session_id,
        "path": list(event.session_path),
        "tool": event.tool,
        "digest": event.digest,
        "action": event.action.word if event.action is not None else None,
        "step": event.step.value if event.step is not None else None,
        "rules": list(event.rules),
        "ruled_by": event.ruled_by,
        "outcome": event.outcome,
        "ref": event.ref,
        **({"arguments": event.arguments} if event.arguments else {}),
        **({"trace": event.trace} if event.trace else {}),
    }
