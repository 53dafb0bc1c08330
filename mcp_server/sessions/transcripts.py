"""What a stored transcript says: which calls are open, what comes next. Pure reading, nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import CallEnded, CallStarted, ModelTurn, RefusedCall, RunId, StoredEntry, TaskGiven
from mcp_server.sessions.digests import arguments_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsTurn:
    """The model is to speak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsCalls:
    """Calls of the last turn have no result yet."""

    calls: tuple[ToolCall, ...]
    interrupted: frozenset[CallId]
    """Those that were started by a process that is gone: their outcome is unknown."""
    beyond: frozenset[CallId] = frozenset()
    """Those past the number that one turn may make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidAll:
    """The last turn asked for nothing more."""

    text: str


MOST_CALLS = 32
"""Calls of one turn that are made: models that work well make a handful at once, and each may start a process or ask a person."""

Next = NeedsTurn | NeedsCalls | SaidAll


def next_step(entries: Sequence[StoredEntry], running: frozenset[CallId]) -> Next:
    """What the state machine does now. `running` are the calls that this process has started and not ended."""
    last = _last_turn(entries)
    if last is None:
        return NeedsTurn()
    place, turn = last
    after = [stored.entry for stored in entries[place + 1 :]]
    if any(isinstance(entry, TaskGiven) for entry in after):
        return NeedsTurn()
    if not turn.calls:
        return SaidAll(text=turn.text)
    ended = {entry.call_id for entry in after if isinstance(entry, CallEnded)}
    started = {entry.call_id for entry in after if isinstance(entry, CallStarted)}
    left = tuple(call for call in turn.calls if call.id not in ended)
    if not left:
        return NeedsTurn()
    beyond = frozenset(call.id for call in turn.calls[MOST_CALLS:])
    return NeedsCalls(calls=left, interrupted=frozenset(started - ended - running), beyond=beyond)


def _last_turn(entries: Sequence[StoredEntry]) -> tuple[int, ModelTurn] | None:
    for place in range(len(entries) - 1, -1, -1):
        entry = entries[place].entry
        if isinstance(entry, ModelTurn):
            return place, entry
    return None


def turns_of(entries: Sequence[StoredEntry], run_id: RunId) -> int:
    """Model turns of one run."""
    return sum(1 for stored in entries if stored.run_id == run_id and isinstance(stored.entry, ModelTurn))


def refused_in(entries: Sequence[StoredEntry], run_id: RunId) -> tuple[RefusedCall, ...]:
    """Every call of the run, and of its children, that was denied or not answered."""
    ended = (stored.entry for stored in entries if stored.run_id == run_id and isinstance(stored.entry, CallEnded))
    return tuple(refused for entry in ended for refused in entry.refused)


def last_words(entries: Sequence[StoredEntry], run_id: RunId) -> str:
    """The newest text that the model said in this run; what a run that fails still has to show."""
    for stored in reversed(entries):
        if stored.run_id == run_id and isinstance(stored.entry, ModelTurn) and stored.entry.text:
            return stored.entry.text
    return ""


LOOP = 3
"""The same call so many times running looks like a loop: twice may be a retry, three times is a habit."""


def repeats(entries: Sequence[StoredEntry], run_id: RunId, call: ToolCall) -> bool:
    """Is this call the third of its like running, counting back over the run's calls?"""
    calls = [c for stored in entries if stored.run_id == run_id and isinstance(stored.entry, ModelTurn) for c in stored.entry.calls]
    place = next((i for i, c in enumerate(calls) if c.id == call.id), None)
    if place is None or place + 1 < LOOP:
        return False
    mark = arguments_digest(call.arguments)
    window = calls[place + 1 - LOOP : place + 1]
    return all(c.tool == call.tool and arguments_digest(c.arguments) == mark for c in window)
