"""A session's story in the lines of a terminal, and as objects for programs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_server.policy.values import CallId
from mcp_server.records import ApprovalSubject, CallEnded, CallStarted, Compacted, ModelTurn, Prompt, StoredEntry, TaskGiven
from mcp_server.sessions.forest import Listed
from mcp_server.sessions.plain_entries import plain_entry, text_of
from mcp_server.sessions.story import Story, beside, used, verdicts
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import path_of, time_of

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


def _beside(story: Story) -> Iterator[str]:
    for call, decision, outcome in beside(story):
        yield f"{time_of(decision.at)}  {decision.tool}: {outcome}"
        yield from (f"      {line}" for line in verdicts(story, call))


def _ending(one: Listed) -> Iterator[str]:
    yield f"state: {one.state}" + (f", {one.run.reason}" if one.run and one.run.reason else "")
    if one.run is None:
        return
    yield f"used: {used(one.run.usage)}"
    for call in one.run.outcome.refused if one.run.outcome else ():
        yield f"refused: {path_of(call.session_path)}: {call.tool} {call.summary}: {call.ending.value}: {call.reason}"


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
