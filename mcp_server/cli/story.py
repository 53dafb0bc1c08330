"""A session's transcript with the verdicts in place: each call, the rule that decided it, who was asked and what they answered."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_server.cli.forest import ALL_OF_THEM, Listed
from mcp_server.policy.values import CallId
from mcp_server.records import (
    ApprovalSubject,
    AuditEvent,
    CallEnded,
    CallStarted,
    Change,
    Compacted,
    ModelTurn,
    Prompt,
    PromptState,
    StoredEntry,
    TaskGiven,
    Usage,
)
from mcp_server.sessions.offered import choices_of
from mcp_server.sessions.plain_entries import plain_entry, text_of
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import cost_of, path_of, time_of
from mcp_server.store.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One session as everything that is kept of it tells."""

    listed: Listed
    path: tuple[str, ...]
    entries: tuple[StoredEntry, ...]
    decisions: Mapping[str, Sequence[AuditEvent]]
    """By call, oldest first. The last one counted."""
    outcomes: Mapping[str, AuditEvent]
    """By call, as the audit has them: a client's own calls stand nowhere else."""
    prompts: Mapping[CallId, Sequence[Prompt]]
    """By call, oldest first."""
    changes: tuple[Change, ...]
    """The steps of its runs, oldest first."""


async def read_story(store: Store, listed: Listed, path: tuple[str, ...]) -> Story:
    """Everything about one session."""
    session = listed.session
    decisions: dict[str, list[AuditEvent]] = {}
    outcomes: dict[str, AuditEvent] = {}
    for stored in await store.audit_log(principal=session.principal, session_id=session.id, limit=ALL_OF_THEM):
        match stored.event.kind:
            case "decision":
                decisions.setdefault(stored.event.ref, []).append(stored.event)
            case "outcome":
                outcomes[stored.event.ref] = stored.event
            case "prompt" | "ruling" | "run" | "session" | "trust":
                pass
    prompts: dict[CallId, list[Prompt]] = {}
    for prompt in await store.prompts(principal=session.principal, session_id=session.id):
        for call in prompt.calls:
            prompts.setdefault(call, []).append(prompt)
    entries = await store.transcript(session.id)
    changes = await store.changes(session.id)
    return Story(listed=listed, path=path, entries=entries, decisions=decisions, outcomes=outcomes, prompts=prompts, changes=changes)


# ---- for people ---------------------------------------------------------------------------------


def told(story: Story) -> Iterator[str]:
    """The whole of it, in lines that may hold anything: make them safe before a terminal sees them."""
    session = story.listed.session
    yield from (f"{path_of(story.path)}  {session.id}", session.title or "no title", session.workspace, "")
    for entry in story.entries:
        yield from _entry(story, entry)
    yield from _beside(story)
    for change in story.changes:
        yield f"{time_of(change.at)}  {change.state.value}" + (f": {change.reason}" if change.reason else "")
    yield from _ending(story.listed)


def _entry(story: Story, stored: StoredEntry) -> Iterator[str]:
    at = time_of(stored.at)
    match stored.entry:
        case TaskGiven() as given:
            yield f"{at}  task: {given.text}"
        case ModelTurn() as turn:
            yield f"{at}  {turn.model}: {turn.text}" if turn.text else f"{at}  {turn.model}"
            for call in turn.calls:
                yield f"    calls {call.tool} {json.dumps(dict(call.arguments), ensure_ascii=False)}"
                yield from (f"      {line}" for line in verdicts(story, call.id))
        case CallStarted():
            return
        case CallEnded() as ended:
            yield f"{at}  {ended.tool}: {ended.ending.value}"
            yield from (f"    {line}" for line in text_of(ended).split("\n"))
        case Compacted() as compacted:
            yield f"{at}  {compacted.model} shortened what the model is given of all before; it now reads:"
            yield from (f"    {line}" for line in compacted.summary.split("\n"))


def verdicts(story: Story, call: CallId) -> list[str]:
    """How it was decided about the call, step by step: each decision, each prompt, each answer."""
    lines = [(event.at, 0, _decision(event)) for event in story.decisions.get(call, ())]
    for prompt in story.prompts.get(call, ()):
        lines.append((prompt.created_at, 1, _asked(prompt)))
        lines.append((prompt.answer.at if prompt.answer is not None else float("inf"), 2, _answered(prompt)))
    return [line for _, _, line in sorted(lines, key=lambda one: one[:2])]


def _decision(event: AuditEvent) -> str:
    action = event.action.word if event.action is not None else "?"
    step = event.step.value if event.step is not None else "?"
    rules = f" by {'; '.join(event.rules)}" if event.rules else ""
    return f"{action} ({step}){rules}" + (f", ruled by {event.ruled_by}" if event.ruled_by else "")


def _asked(prompt: Prompt) -> str:
    because = f", because {'; '.join(prompt.subject.because)}" if isinstance(prompt.subject, ApprovalSubject) else ""
    return f"asked: {wanted(prompt)}{because}"


def _answered(prompt: Prompt) -> str:
    answer = prompt.answer
    match prompt.state:
        case PromptState.OPEN:
            return f"waits for an answer: remit approvals show {prompt.id}"
        case PromptState.ANSWERED if answer is not None:
            said = choices_of(prompt).get(answer.choice, answer.choice.value) if answer.choice is not None else "answered"
            words = f": {answer.words}" if answer.words else ""
            return f"{answer.by} said at {time_of(answer.at)} through {answer.channel}: {said}{words}"
        case PromptState.ANSWERED | PromptState.EXPIRED | PromptState.WITHDRAWN | PromptState.UNASKABLE:
            return f"{prompt.state.value}" + (f": {prompt.reason}" if prompt.reason else "")


def _beside(story: Story) -> Iterator[str]:
    """Calls that no transcript holds: a client's own. Of these nothing is kept but what the audit has."""
    known = {call.id for entry in story.entries if isinstance(entry.entry, ModelTurn) for call in entry.entry.calls}
    for ref, events in story.decisions.items():
        call = CallId(ref)
        if call in known:
            continue
        outcome = story.outcomes.get(ref)
        yield f"{time_of(events[0].at)}  {events[0].tool}: {outcome.outcome if outcome is not None else 'not ended'}"
        yield from (f"      {line}" for line in verdicts(story, call))


def _ending(one: Listed) -> Iterator[str]:
    yield f"state: {one.state}" + (f", {one.run.reason}" if one.run and one.run.reason else "")
    if one.run is None:
        return
    yield f"used: {_used(one.run.usage)}"
    for call in one.run.outcome.refused if one.run.outcome else ():
        yield f"refused: {path_of(call.session_path)}: {call.tool} {call.summary}: {call.ending.value}: {call.reason}"


def _used(usage: Usage) -> str:
    cached = f" ({usage.cached_tokens} from the cache)" if usage.cached_tokens else ""
    told = f"{usage.turns} turns, {usage.tool_calls} calls, {usage.input_tokens} tokens in{cached}, {usage.output_tokens} out"
    return f"{told}, {cost_of(usage)}"


# ---- for programs -------------------------------------------------------------------------------


def objects(story: Story) -> Iterator[Mapping[str, Any]]:
    """Each entry as one object: its place, its time, its kind and what it holds. Then each step of its runs."""
    for stored in story.entries:
        entry = plain_entry(stored)
        for call in entry.get("calls", ()):
            call |= _decided(story, call["id"])
        yield entry
    for change in story.changes:
        yield {"at": change.at, "run": change.run_id, "kind": "change", "state": change.state.value, "reason": change.reason}


def _decided(story: Story, call: CallId) -> dict[str, Any]:
    return {
        "decisions": [
            {
                "at": event.at,
                "action": event.action.word if event.action is not None else None,
                "step": event.step.value if event.step is not None else None,
                "rules": list(event.rules),
                "ruled_by": event.ruled_by,
            }
            for event in story.decisions.get(call, ())
        ],
        "prompts": [_prompt(prompt) for prompt in story.prompts.get(call, ())],
    }


def _prompt(prompt: Prompt) -> dict[str, Any]:
    answer = prompt.answer
    return {
        "id": prompt.id,
        "wants": wanted(prompt),
        "because": list(prompt.subject.because) if isinstance(prompt.subject, ApprovalSubject) else [],
        "state": prompt.state.value,
        "reason": prompt.reason,
        "choice": answer.choice.value if answer is not None and answer.choice is not None else None,
        "words": answer.words if answer is not None else "",
        "by": answer.by if answer is not None else None,
        "channel": answer.channel if answer is not None else None,
        "answered_at": answer.at if answer is not None else None,
    }
