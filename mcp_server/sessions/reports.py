"""How a child's run is told to its caller: text for a model, and structured content that is authoritative.

No output of a child can close a tag or forge one: everything inside is escaped.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

import anyio
from pydantic import BaseModel, Field

from mcp_server.policy.values import ToolCall
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import (
    CallEnded,
    Cancelled,
    Completed,
    Ending,
    Expired,
    Failed,
    Outcome,
    RefusedCall,
    RunRecord,
    RunState,
    SessionRecord,
    TextPart,
    Usage,
)
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import child_ids
from mcp_server.sessions.models.client import NOTHING_ASKED, Awaited
from mcp_server.sessions.refusals import one_line
from mcp_server.sessions.smalljobs import small_job
from mcp_server.sessions.standing import Standing

TaskState = Literal["running", "waiting", "completed", "error", "cancelled"]

PREVIEW = 6_000
"""Characters shown of either end of a result too long to show: enough to judge whether to read the rest."""


class UsageReport(BaseModel):
    """What the run cost so far."""

    turns: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    cached_tokens: int = 0
    """Those of `input_tokens` that came out of the provider's cache."""
    cost_usd: float | None = None
    """By list prices; None: not known."""
    unpriced: int = 0
    """Answers whose price is not known; where there are any, `cost_usd` is the least that it can be."""


class RefusedReport(BaseModel):
    """A call that was denied, or that nobody answered."""

    agent_path: str
    tool: str
    summary: str
    ending: str
    reason: str


class TaskReport(BaseModel):
    """The state of a child session. `refused` lists every call that did not happen, whatever `result` claims."""

    task_id: str
    state: TaskState
    agent: str
    title: str
    result: str | None = None
    error: str | None = None
    waiting_for: list[str] = Field(default_factory=list)
    model_turns: list[str] = Field(default_factory=list)
    """Turns that the client's own model is to give: whose, and how each stands."""
    usage: UsageReport
    refused: list[RefusedReport] = Field(default_factory=list[RefusedReport])


def task_state(state: RunState, *, asking: bool) -> TaskState:
    """The five words that a caller sees. `waiting` means that a person must do something: a run whose children work is running."""
    match state:
        case RunState.QUEUED | RunState.RUNNING | RunState.WAITING:
            return "waiting" if asking else "running"
        case RunState.COMPLETED:
            return "completed"
        case RunState.FAILED | RunState.EXPIRED:
            return "error"
        case RunState.CANCELLED:
            return "cancelled"


def report_of(session: SessionRecord, run: RunRecord, waiting_for: Sequence[str] = (), asked: Awaited = NOTHING_ASKED) -> TaskReport:
    """The run as it stands. `waiting_for`: the prompts that are open below it, a line each."""
    result, error = _said(run.outcome)
    return TaskReport(
        task_id=session.id,
        state=task_state(run.state, asking=bool(waiting_for) or asked.stuck),
        agent=session.agent,
        title=session.title,
        result=result,
        error=error,
        waiting_for=list(waiting_for),
        model_turns=list(asked.lines),
        usage=usage_report(run.usage),
        refused=[_refused(call) for call in (run.outcome.refused if run.outcome else ())],
    )


def _refused(call: RefusedCall) -> RefusedReport:
    path = " › ".join(call.session_path)
    return RefusedReport(agent_path=path, tool=call.tool, summary=call.summary, ending=call.ending.value, reason=call.reason)


def _said(outcome: Outcome | None) -> tuple[str | None, str | None]:
    match outcome:
        case None:
            return None, None
        case Completed():
            return outcome.result, None
        case Failed():
            return outcome.partial or None, outcome.error
        case Cancelled():
            return outcome.partial or None, f"cancelled by {outcome.by}"
        case Expired():
            return outcome.partial or None, f"stopped at its limit: {outcome.limit}"


def unborn(caller: SessionId, call: ToolCall, waiting_for: Sequence[str]) -> TaskReport:
    """A child that waits to be allowed: it has its id already, and nothing else yet."""
    return TaskReport(
        task_id=child_ids(caller, call)[0],
        state="waiting",
        agent=str(call.arguments.get("subagent_type", "")),
        title=str(call.arguments.get("description", "")),
        waiting_for=list(waiting_for),
        usage=usage_report(Usage()),
    )


def usage_report(usage: Usage) -> UsageReport:
    """What was used, as it is told."""
    return UsageReport(
        turns=usage.turns,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        tool_calls=usage.tool_calls,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost,
        unpriced=usage.unpriced,
    )


def task_text(report: TaskReport, shown: str | None = None) -> str:
    """The text a model reads. `shown` replaces the result where that is too long."""
    body = shown if shown is not None else (report.result or "")
    tag = "task_error" if report.state in ("error", "cancelled") else "task_result"
    inner = "\n".join(part for part in ((report.error or "") if tag == "task_error" else "", body) if part)
    return (
        f'<task id="{escape(report.task_id)}" state="{report.state}">'
        f"<summary>{escape(_summary(report), quote=False)}</summary>"
        f"<{tag}>{escape(inner, quote=False)}</{tag}></task>"
    )


def _summary(report: TaskReport) -> str:
    lines = [f"{one_line(report.title)}: {report.state}"]
    if report.refused:
        lines.append(f"{len(report.refused)} call(s) did not happen:")
        told = (f"{call.agent_path}: {call.tool} {call.summary}: {call.ending} ({call.reason})" for call in report.refused)
        lines.extend(f"- {one_line(each)}" for each in told)
    if report.waiting_for:
        lines.append("waiting for a person:")
        lines.extend(f"- {line}" for line in report.waiting_for)
    if report.model_turns:
        lines.append("waiting for a turn of the client's own model:")
        lines.extend(f"- {line}" for line in report.model_turns)
    return "\n".join(lines)


async def child_result(deployment: Deployment, call: ToolCall, run: RunRecord, standing: Standing) -> CallEnded:
    """The result of a `task` call: what its child has come to, or where a background one stands."""
    session = await deployment.store.session(run.session_id, run.principal)
    if session is None:
        return CallEnded(call_id=call.id, tool=call.tool, ending=Ending.FAILED, parts=(TextPart(text="the child is gone"),))
    report = report_of(session, run)
    shown = await _shown(deployment, standing, session, report)
    return CallEnded(
        call_id=call.id,
        tool=call.tool,
        ending=_ending(run),
        parts=(TextPart(text=task_text(report, shown)),),
        structured=_structured(report, shown),
        refused=run.outcome.refused if run.outcome else (),
    )


def _structured(report: TaskReport, shown: str | None) -> dict[str, Any]:
    return (report if shown is None else report.model_copy(update={"result": shown})).model_dump(mode="json")


def _ending(run: RunRecord) -> Ending:
    match run.outcome:
        case Completed() | None:
            return Ending.DONE
        case Cancelled():
            return Ending.CANCELLED
        case Failed() | Expired():
            return Ending.FAILED


async def _shown(deployment: Deployment, standing: Standing, session: SessionRecord, report: TaskReport) -> str | None:
    """What to show of a result that is too long; the whole of it is saved where its caller may read it. None: all of it."""
    text = report.result
    if text is None or len(text) <= deployment.limits.inline_characters:
        return None
    folder = anyio.Path(deployment.outputs / standing.session.id)
    await folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{session.id}.txt"
    await file.write_text(text, encoding="utf-8")
    await file.chmod(0o600)
    summary = await small_job(deployment, "summary", session, text)
    shown = preview(text, Path(file))
    return f"In short: {summary}\n\n{shown}" if summary else shown


def preview(text: str, file: Path) -> str:
    """Head and tail of a long text, and where the whole of it is."""
    left_out = len(text) - 2 * PREVIEW
    return f"{text[:PREVIEW]}\n… {left_out} characters left out; all of it is in {file} …\n{text[-PREVIEW:]}"
