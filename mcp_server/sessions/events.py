"""Audit events, made in one place so that every doorway tells the same things."""

import json
from typing import Any

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import Opinion, SessionId, Step, ValueVerdict, Verdict
from mcp_server.records import (
    AuditEvent,
    CallEnded,
    Cancelled,
    Completed,
    Expired,
    Failed,
    ModelTurn,
    Outcome,
    Prompt,
    RulingRecord,
    RunRecord,
    SessionRecord,
)
from mcp_server.sessions.digests import call_digest
from mcp_server.sessions.models.names import is_client
from mcp_server.sessions.refusals import shortened


def decision(
    at: float,
    session: SessionRecord,
    path: tuple[str, ...],
    call: ToolCall,
    digest: str,
    arguments: str,
    verdict: Verdict,
    ruled_by: str,
    trace: str = "",
) -> AuditEvent:
    """The gate decided about a call. Written before the act that it permits."""
    return AuditEvent(
        at=at,
        kind="decision",
        principal=session.principal,
        session_id=session.id,
        session_path=path,
        tool=call.tool,
        digest=digest,
        action=verdict.action,
        step=verdict.step,
        rules=deciding_rules(verdict),
        ruled_by=ruled_by,
        ref=call.id,
        arguments=arguments,
        trace=trace,
    )


def call_of(event: AuditEvent) -> ToolCall | None:
    """The call of a decision by the arguments that the event holds. None: they are not those that were decided about, but redacted or
    cut; the digest tells.
    """
    try:
        arguments: dict[str, Any] = json.loads(event.arguments)
    except ValueError:
        return None
    if call_digest(event.principal, event.session_id, event.tool, arguments) != event.digest:
        return None
    return ToolCall(id=CallId(event.ref), tool=event.tool, arguments=arguments)


def deciding_rules(verdict: Verdict) -> tuple[str, ...]:
    """The rules of the parts that came to the verdict's action, each once, `owner: rule`."""
    weighty = (part for part in verdict.parts if part.action == verdict.action or part.asks)
    return tuple(dict.fromkeys(text for part in weighty for text in _rules_of(part)))


def _rules_of(part: ValueVerdict) -> tuple[str, ...]:
    if part.step is Step.MODE or not part.deciding:
        return ()
    return tuple(_named(opinion) for opinion in part.deciding)


def _named(opinion: Opinion) -> str:
    return f"{opinion.layer.owner}: {opinion.rule}"


def outcome(
    at: float, session: SessionRecord, path: tuple[str, ...], call: ToolCall, digest: str, ended: CallEnded, ran: str
) -> AuditEvent:
    """What became of a call that was permitted, and what held it while it `ran`."""
    return AuditEvent(
        at=at,
        kind="outcome",
        principal=session.principal,
        session_id=session.id,
        session_path=path,
        tool=call.tool,
        digest=digest,
        outcome=f"{ended.ending.value}, {ran}" if ran else ended.ending.value,
        ref=call.id,
    )


def prompted(at: float, prompt: Prompt, tool: str, outcome: str, *, by: str = "") -> AuditEvent:
    """A prompt was opened, shown or closed."""
    return AuditEvent(
        at=at,
        kind="prompt",
        principal=prompt.principal,
        session_id=prompt.session_id,
        session_path=prompt.session_path,
        tool=tool,
        digest=prompt.digest,
        ruled_by=by,
        outcome=outcome,
        ref=prompt.id,
    )


def ruled(at: float, record: RulingRecord, path: tuple[str, ...], outcome: str, *, by: str) -> AuditEvent:
    """A ruling was given, handed down or revoked."""
    return AuditEvent(
        at=at,
        kind="ruling",
        principal=record.principal,
        session_id=record.ruling.session_id,
        session_path=path,
        action=record.action,
        rules=("once: this very call" if record.ruling.digest else f"{record.reach.value}: {record.ruling.rule}",),
        ruled_by=by,
        outcome=outcome,
        ref=record.id,
    )


def looked(at: float, by: str, outcome: str, ref: str = "") -> AuditEvent:
    """Somebody looked, by their role, at what is another's. `by`: whose audit tells of it."""
    return AuditEvent(at=at, kind="look", principal=by, session_id=SessionId(""), session_path=(), ruled_by=by, outcome=outcome, ref=ref)


def ran(at: float, run: RunRecord, path: tuple[str, ...], outcome: str) -> AuditEvent:
    """A run was started or came to its end, or something happened to its model that people should find."""
    return AuditEvent(
        at=at,
        kind="run",
        principal=run.principal,
        session_id=run.session_id,
        session_path=path,
        outcome=outcome,
        ref=run.id,
    )


def answered(turn: ModelTurn) -> str:
    """What people should find of who answered: a fallback, or a client's own model. Empty: the model that is set, as ever."""
    if not turn.instead and not is_client(turn.model):
        return ""
    return f"{turn.model} answered" + (f": {turn.instead}" if turn.instead else "")


def ending_words(outcome: Outcome) -> str:
    """An outcome in few words, for the audit: `completed, 2 calls refused`."""
    count = len(outcome.refused)
    return outcome.kind if not count else f"{outcome.kind}, {count} call{'s' if count != 1 else ''} refused"


def reason_of(outcome: Outcome) -> str:
    """Why a run ended, in a line, for those who look at its changes."""
    match outcome:
        case Completed():
            return ending_words(outcome)
        case Failed(error=error):
            return shortened(error)
        case Cancelled(by=by):
            return f"cancelled by {by}"
        case Expired(limit=limit):
            return f"stopped at its limit: {limit}"


def rooted(at: float, session: SessionRecord, outcome: str) -> AuditEvent:
    """A root session was opened or ended."""
    return AuditEvent(
        at=at,
        kind="session",
        principal=session.principal,
        session_id=session.id,
        session_path=(session.agent,),
        outcome=outcome,
        ref=session.id,
    )
