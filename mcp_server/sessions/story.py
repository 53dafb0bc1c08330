"""A session's transcript with the verdicts in place: each call, the rule that decided it, who was asked and what they answered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_server.policy.values import CallId
from mcp_server.records import ApprovalSubject, AuditEvent, Change, ModelTurn, Prompt, PromptState, SessionRecord, StoredEntry, Usage
from mcp_server.sessions.forest import ALL_OF_THEM, Listed
from mcp_server.sessions.offered import choices_of
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import cost_of, time_of
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
            case "key" | "look" | "prompt" | "ruling" | "run" | "session" | "trust":
                pass
    prompts: dict[CallId, list[Prompt]] = {}
    for prompt in await store.prompts(principal=session.principal, session_id=session.id):
        for call in prompt.calls:
            prompts.setdefault(call, []).append(prompt)
    entries = await store.transcript(session.id)
    changes = await store.changes(session.id)
    return Story(listed=listed, path=path, entries=entries, decisions=decisions, outcomes=outcomes, prompts=prompts, changes=changes)


async def story_of(store: Store, session: SessionRecord) -> Story:
    """The same, found out from the session alone."""
    chain = await store.chain(session.id)
    prompts = [one for one in await store.prompts(session_id=session.id, state=PromptState.OPEN) if one.principal == session.principal]
    listed = Listed(session=session, run=await store.latest_run(session.id), prompts=tuple(prompts))
    return await read_story(store, listed, tuple(one.agent for one in chain))


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
            return f"waits for an answer: remit approvals approve {prompt.id}"
        case PromptState.ANSWERED if answer is not None:
            said = choices_of(prompt).get(answer.choice, answer.choice.value) if answer.choice is not None else "answered"
            words = f": {answer.words}" if answer.words else ""
            return f"{answer.by} said at {time_of(answer.at)} through {answer.channel}: {said}{words}"
        case PromptState.ANSWERED | PromptState.EXPIRED | PromptState.WITHDRAWN | PromptState.UNASKABLE:
            return f"{prompt.state.value}" + (f": {prompt.reason}" if prompt.reason else "")


def beside(story: Story) -> Iterator[tuple[CallId, AuditEvent, str]]:
    """Calls that no transcript holds: a client's own. Of these nothing is kept but what the audit has: the first decision, and the end."""
    known = {call.id for entry in story.entries if isinstance(entry.entry, ModelTurn) for call in entry.entry.calls}
    for ref, events in story.decisions.items():
        if CallId(ref) not in known:
            outcome = story.outcomes.get(ref)
            yield CallId(ref), events[0], outcome.outcome if outcome is not None else "not ended"


def used(usage: Usage) -> str:
    """What a run has used so far."""
    cached = f" ({usage.cached_tokens} from the cache)" if usage.cached_tokens else ""
    told = f"{usage.turns} turns, {usage.tool_calls} calls, {usage.input_tokens} tokens in{cached}, {usage.output_tokens} out"
    return f"{told}, {cost_of(usage)}"
