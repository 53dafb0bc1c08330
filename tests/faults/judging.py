"""Did a campaign's run end right? Looks at the store, at what the tools left behind, and at what the person was shown."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from itertools import pairwise

from mcp_server.policy.values import Action, CallId
from mcp_server.principal import LOCAL
from mcp_server.records import (
    FINAL,
    AuditEvent,
    CallEnded,
    CallStarted,
    Choice,
    Ending,
    ModelTurn,
    Prompt,
    PromptState,
    RunState,
    SessionRecord,
    StoredEntry,
)
from mcp_server.sessions.transitions import TRANSITIONS
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import SqliteStore, open_store
from tests.behaviour.world import World
from tests.faults.life import people_log
from tests.faults.tales import Tale


async def faults_of(world: World, tale: Tale) -> list[str]:
    """What is wrong, a line each; none: it ended right."""
    store = open_store(world.places.state / "remit.db")
    try:
        found = [f"the store: {fault}" for fault in await store.faults()]
        found += [fault async for fault in _all(store, world, tale)]
    finally:
        await store.close()
    return found


async def _all(store: SqliteStore, world: World, tale: Tale) -> AsyncGenerator[str]:
    sessions = [session for session in await store.sessions(LOCAL.key) if session.parent_id is not None]
    audit = tuple(stored.event for stored in await store.audit_log(limit=100_000))
    numbers = [stored.seq for stored in await store.audit_log(limit=100_000)]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "the audit's numbers have a gap"
    prompts = await store.prompts()
    for fault in (*_people(world, prompts), *_prompts(prompts, audit)):
        yield fault
    tops = [session for session in sessions if session.depth == 1]
    if len(tops) != 1:
        yield f"the client began {len(tops)} tasks"
    effects = Counter((world.workspace / "effects").read_text().split() if (world.workspace / "effects").exists() else [])
    for session in sessions:
        async for fault in _session(store, session, tale, audit, prompts, effects):
            yield f"{session.agent}: {fault}"


async def _session(
    store: Store, session: SessionRecord, tale: Tale, audit: tuple[AuditEvent, ...], prompts: tuple[Prompt, ...], effects: Counter[str]
) -> AsyncGenerator[str]:
    run = await store.latest_run(session.id)
    if run is None:
        yield "has no run"
        return
    if run.state not in FINAL:
        yield f"has not ended ({run.state.value}, {run.reason})"
    if session.depth == 1 and run.state not in tale.ends:
        yield f"ended as {run.state.value}"
    ends = [event.outcome for event in audit if event.kind == "run" and event.ref == run.id]
    if len(ends) != 2 or ends[0] != "started" or not ends[1].startswith(run.state.value):
        yield f"the audit says of its run {ends}"
    states = [change.state for change in await store.changes(session.id)]
    for old, new in pairwise(states):
        if old is not new and (old, new) not in TRANSITIONS:
            yield f"took a step that is none: {old.value} → {new.value}"
    for fault in _calls(await store.transcript(session.id), run.state, audit, prompts, effects):
        yield fault


def _calls(
    entries: tuple[StoredEntry, ...], state: RunState, audit: tuple[AuditEvent, ...], prompts: tuple[Prompt, ...], effects: Counter[str]
) -> Iterator[str]:
    calls = [call for stored in entries if isinstance(stored.entry, ModelTurn) for call in stored.entry.calls]
    started = Counter(stored.entry.call_id for stored in entries if isinstance(stored.entry, CallStarted))
    endings = {stored.entry.call_id: stored.entry.ending for stored in entries if isinstance(stored.entry, CallEnded)}
    ended = Counter(stored.entry.call_id for stored in entries if isinstance(stored.entry, CallEnded))
    for call in calls:
        name = str(call.arguments.get("command", call.tool))
        if started[call.id] > 1 or ended[call.id] > 1:
            yield f"`{name}` was begun {started[call.id]} and ended {ended[call.id]} times"
        if not ended[call.id] and state is RunState.COMPLETED:
            yield f"`{name}` has no result"
        decided = [event.action for event in audit if event.kind == "decision" and event.ref == call.id]
        if started[call.id] and (not decided or decided[-1] is not Action.ALLOW):
            yield f"`{name}` was begun, and the audit says {decided}"
        told = sum(event.kind == "outcome" and event.ref == call.id for event in audit)
        if told > 1 or (ended[call.id] and not told and Action.DENY not in decided):
            yield f"`{name}` has ended, and the audit tells {told} outcomes"
        if call.tool == "bash":
            yield from _effects(name, endings.get(call.id), bool(started[call.id]), effects)
        yield from _answers(name, call.id, endings.get(call.id), prompts)


def _effects(name: str, ending: Ending | None, started: bool, effects: Counter[str]) -> Iterator[str]:
    times = effects[name.rpartition(" ")[2]]
    if times > 1:
        yield f"`{name}` ran {times} times"
    if ending is Ending.DONE and times != 1:
        yield f"`{name}` is done and ran {times} times"
    if times and not started:
        yield f"`{name}` ran and was never begun"


def _answers(name: str, call: CallId, ending: Ending | None, prompts: tuple[Prompt, ...]) -> Iterator[str]:
    mine = [prompt for prompt in prompts if call in prompt.calls and prompt.state is PromptState.ANSWERED]
    if len(mine) > 1:
        yield f"`{name}` was answered {len(mine)} times"
    denied = any(prompt.answer is not None and prompt.answer.choice is Choice.DENY for prompt in mine)
    if ending is not None and denied and ending is not Ending.DENIED_BY_PERSON:
        yield f"`{name}` was denied and ended as: {ending.value}"
    if mine and not denied and ending is not None and ending not in (Ending.DONE, Ending.INTERRUPTED, Ending.CANCELLED):
        yield f"`{name}` was allowed and ended as: {ending.value}"


def _people(world: World, prompts: tuple[Prompt, ...]) -> Iterator[str]:
    stored = {prompt.id: prompt for prompt in prompts}
    taken: set[str] = set()
    for what, prompt_id in people_log(world).lines():
        if what == "shown" and prompt_id in taken:
            yield f"{prompt_id} was shown after its answer was taken"
        if what == "answered":
            taken.add(prompt_id)
    for prompt_id in taken:
        kept = next((prompt for key, prompt in stored.items() if key == prompt_id), None)
        if kept is None or kept.state is not PromptState.ANSWERED:
            yield f"the answer to {prompt_id} is lost"


def _prompts(prompts: tuple[Prompt, ...], audit: tuple[AuditEvent, ...]) -> Iterator[str]:
    for prompt in prompts:
        told = [event.outcome for event in audit if event.kind == "prompt" and event.ref == prompt.id]
        if prompt.state is PromptState.OPEN:
            yield f"{prompt.id} is open still"
        if len(told) != 2 or told[0] != "opened" or not told[1].startswith(prompt.state.value):
            yield f"the audit says of {prompt.id} ({prompt.state.value}): {told}"
