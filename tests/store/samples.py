"""Records to store. Every field can be named; what is not has a plain value."""

from typing import Any

from mcp_server.policy.values import Action, AskRef, CallId, Condition, Reach, Rule, ToolCall
from mcp_server.policy.verdicts import Ruling, RulingId, SessionId, Step
from mcp_server.records import (
    Answer,
    ApprovalSubject,
    AuditEvent,
    CallEnded,
    CallStarted,
    Choice,
    Compacted,
    Ending,
    Entry,
    ImagePart,
    ModelTurn,
    Offer,
    Prompt,
    PromptId,
    RefusedCall,
    RulingRecord,
    RunId,
    RunRecord,
    RunState,
    SessionRecord,
    TaskGiven,
    TextPart,
    Usage,
)

PRINCIPAL = "local"
STRANGER = '["https://issuer.example","somebody else","client"]'

NASTY = "a\x00b \ud800 \u2028 › 🙂 '); DROP TABLE audit; -- \r\n\t" + "é" * 5000
"""Text as tools and models produce it: a NUL, a lone surrogate, line separators, quotes, and long."""


def a_session(name: str = "root", *, parent: SessionRecord | None = None, **fields: Any) -> SessionRecord:
    """A root, or a child of `parent`."""
    given: dict[str, Any] = {
        "id": SessionId(name),
        "principal": PRINCIPAL,
        "workspace": "/w",
        "agent": "build" if parent is None else "explore",
        "root_id": SessionId(name) if parent is None else parent.root_id,
        "parent_id": None if parent is None else parent.id,
        "depth": 0 if parent is None else parent.depth + 1,
        "root_agent": "build",
        "created_at": 1.0,
    }
    return SessionRecord(**(given | fields))


def a_run(session: SessionRecord, name: str = "run", **fields: Any) -> RunRecord:
    """A queued run of `session`."""
    given: dict[str, Any] = {
        "id": RunId(name),
        "session_id": session.id,
        "root_id": session.root_id,
        "principal": session.principal,
        "workspace": session.workspace,
        "state": RunState.QUEUED,
        "created_at": 1.0,
        "updated_at": 1.0,
    }
    return RunRecord(**(given | fields))


def a_prompt(session: SessionRecord, name: str = "prompt", **fields: Any) -> Prompt:
    """An open prompt of `session`, for one call."""
    given: dict[str, Any] = {
        "id": PromptId(name),
        "principal": session.principal,
        "root_id": session.root_id,
        "session_id": session.id,
        "session_path": ("build", "explore"),
        "calls": (CallId("call"),),
        "digest": "d" * 64,
        "subject": ApprovalSubject(
            tool="bash",
            arguments={"command": NASTY, "deep": [1, 2.5, None, {"x": True}]},
            wants=("bash rm -r out",),
            because=("agent build: bash * ask",),
            asks=(AskRef(owner="agent build", rule="bash * ask"),),
            offers=(Offer(choice=Choice.ALLOW_ONCE), Offer(choice=Choice.ALLOW_SESSION, rules=("bash rm -r out allow",))),
        ),
        "created_at": 1.0,
    }
    return Prompt(**(given | fields))


def an_answer(**fields: Any) -> Answer:
    """Allowed once, at the inbox."""
    given: dict[str, Any] = {"choice": Choice.ALLOW_ONCE, "by": PRINCIPAL, "channel": "approvals", "at": 5.0}
    return Answer(**(given | fields))


def a_ruling(session: SessionRecord, name: str = "ruling", reach: Reach = Reach.SESSION, **fields: Any) -> RulingRecord:
    """An allow for `session`."""
    rule = Rule(
        permission="bash",
        pattern="rm *",
        action=Action.ALLOW,
        when=(Condition(path=("a", "b"), equals=[1, "x"], one_of=(1, "two", None)),),
        reach=reach,
    )
    given: dict[str, Any] = {
        "ruling": Ruling(
            id=RulingId(name),
            session_id=session.id,
            reach=reach,
            rule=rule,
            answers=(AskRef(owner="agent build", rule="bash * ask"),),
            digest="d" * 64 if reach is Reach.ONCE else None,
        ),
        "action": Action.ALLOW,
        "principal": session.principal,
        "root_id": session.root_id,
        "given_by": PRINCIPAL,
        "channel": "approvals",
        "prompt_id": None,
        "created_at": 1.0,
    }
    return RulingRecord(**(given | fields))


def an_event(session: SessionRecord | None = None, outcome: str = "", **fields: Any) -> AuditEvent:
    """A decision in `session`."""
    given: dict[str, Any] = {
        "at": 2.0,
        "kind": "decision",
        "principal": PRINCIPAL if session is None else session.principal,
        "session_id": SessionId("") if session is None else session.id,
        "session_path": ("build",),
        "tool": "bash",
        "action": Action.ASK,
        "step": Step.ASK,
        "rules": ("agent build: bash * ask",),
        "outcome": outcome,
    }
    return AuditEvent(**(given | fields))


REFUSED = RefusedCall(session_path=("build", "explore"), tool="edit", summary=NASTY, ending=Ending.DENIED_BY_RULE, reason="r")

ENTRIES: tuple[Entry, ...] = (
    TaskGiven(text=NASTY),
    ModelTurn(
        text="",
        calls=(ToolCall(id=CallId("c1"), tool="read", arguments={"path": "\udcff", "limit": 3}),),
        model="scripted:x",
        usage=Usage(
            turns=1, input_tokens=2, output_tokens=3, tool_calls=4, cached_tokens=1, cache_written_tokens=1, cost=0.1 + 0.2, unpriced=1
        ),
        opaque='{"signature":"…"}',
        window=200_000,
    ),
    CallStarted(call_id=CallId("c1")),
    CallEnded(
        call_id=CallId("c1"),
        tool="read",
        ending=Ending.DONE,
        parts=(TextPart(text="</task>"), ImagePart(media_type="image/png", data="aGk=")),
        structured={"n": 1, "x": [float("inf")]},
        refused=(REFUSED,),
    ),
    Compacted(summary=NASTY, through=3, model="scripted:x", usage=Usage(input_tokens=5)),
)
"""One of each kind."""
