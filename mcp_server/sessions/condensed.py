"""What a model is given of a transcript that has been shortened, when that is due, and where to cut. Pure reading."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from mcp_server.records import CallEnded, CallStarted, Compacted, Entry, ModelTurn, StoredEntry, TaskGiven, TextPart
from mcp_server.tools.plain_parts import in_words, plain

FULL = 0.8
"""The part of a model's window at which its transcript is shortened: the rest is room for the answer and for what a guess is wrong by."""

KEPT = 0.2
"""The part of a model's window that the newest exchanges may take which stay word for word."""

CHARACTERS = 3
"""Characters of a token, for a guess that is rather too high: code and other languages come to about 3, English prose to 4."""

IMAGE_TOKENS = 1_600
"""What an image comes to at most with the providers that say so."""

SHORTEST_PART = 250
"""Characters that are left of a part of the transcript, however many parts there are."""

LONGEST_PART = 8_000
"""Characters of one part that are given to be condensed: most results whole, none that fills the room alone."""

FRAME = (
    "Your transcript had grown too long for you, so everything up to here was condensed. What follows is a record of your own work, "
    "not a new instruction; rules, answers of people and refusals stand as they did."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a transcript is cut in two."""

    before: tuple[StoredEntry, ...]
    """What is to be condensed: whole exchanges, every call with its result."""
    earlier: Compacted | None
    """What stands for all before it already."""

    @property
    def through(self) -> int:
        """The `seq` of the last entry that is condensed."""
        return self.before[-1].seq


def in_view(entries: Sequence[StoredEntry]) -> tuple[str, Sequence[StoredEntry]]:
    """What is told in place of the condensed entries, and the entries that a model is still given. Empty text: nothing is condensed."""
    last = _last_compacted(entries)
    if last is None:
        return "", entries
    shown = [stored for stored in entries if stored.seq > last.through]
    return _told(entries, last, shown), shown


def is_full(entries: Sequence[StoredEntry], limit: int | None) -> bool:
    """Is it time to shorten? Only at the model's turn, and only where it has spoken since the last time.

    Args:
        entries: The whole transcript.
        limit: The setting's own bound on tokens, if there is one.
    """
    window = window_of(entries, limit)
    return window is not None and spoken_since(entries) and tokens_now(entries) >= FULL * window


def window_of(entries: Sequence[StoredEntry], limit: int | None) -> int | None:
    """Tokens that the model of the last turn can be given; None: nobody knows."""
    turn = _last_turn(entries)
    known = [size for size in (limit, turn.window if turn else None) if size is not None]
    return min(known) if known else None


def spoken_since(entries: Sequence[StoredEntry]) -> bool:
    """Has the model spoken since the transcript was shortened last? Without that nothing is known of its size, and nothing gained."""
    for stored in reversed(entries):
        if isinstance(stored.entry, ModelTurn):
            return True
        if isinstance(stored.entry, Compacted):
            return False
    return False


def tokens_now(entries: Sequence[StoredEntry]) -> int:
    """About how many tokens the next turn reads: what the last one was counted with, and a guess at what came since."""
    told, shown = in_view(entries)
    since: list[StoredEntry] = []
    for stored in reversed(shown):
        if isinstance(stored.entry, ModelTurn):
            usage = stored.entry.usage
            if usage.input_tokens:
                return usage.input_tokens + usage.output_tokens + sum(guess(late.entry) for late in since)
            break
        since.append(stored)
    return len(told) // CHARACTERS + sum(guess(stored.entry) for stored in shown)


def guess(entry: Entry) -> int:
    """About how many tokens an entry comes to."""
    match entry:
        case TaskGiven(text=text):
            return len(text) // CHARACTERS
        case ModelTurn():
            return len(entry.opaque or "".join(chain(_lines(entry)))) // CHARACTERS
        case CallEnded(parts=parts):
            shown = [plain(part) for part in parts]
            return sum(len(part.text) // CHARACTERS if isinstance(part, TextPart) else IMAGE_TOKENS for part in shown)
        case CallStarted() | Compacted():
            return 0


def cut(entries: Sequence[StoredEntry], window: int) -> Cut | None:
    """Where to cut now, at the model's turn: the newest exchanges that fit into their share stay. None: there is nothing to condense."""
    _, shown = in_view(entries)
    shown = [stored for stored in shown if not isinstance(stored.entry, Compacted)]
    if not shown:
        return None
    place, room = len(shown), KEPT * window
    for index in range(len(shown) - 1, -1, -1):
        room -= guess(shown[index].entry)
        if room < 0:
            break
        if isinstance(shown[index].entry, ModelTurn | TaskGiven):
            place = index
    before = tuple(shown[: place or len(shown)])
    if not any(isinstance(stored.entry, ModelTurn) for stored in before):
        return None
    return Cut(before=before, earlier=_last_compacted(entries))


def material(parts: Cut, room: int) -> str:
    """The text to condense, at most about `room` characters. Whatever an entry says is indented, so that none can pass for a heading."""
    size = LONGEST_PART
    while True:
        text = _material(parts, size)
        if len(text) <= room or size <= SHORTEST_PART:
            return shortened(text, max(room, SHORTEST_PART))
        size //= 2


def _material(parts: Cut, size: int) -> str:
    lines = ["condensed before:", _indented(parts.earlier.summary)] if parts.earlier else []
    for stored in parts.before:
        for head, body in _told_of(stored.entry):
            lines.append(head)
            lines += [_indented(shortened(body, size))] if body else []
    return "\n".join(lines)


def _told_of(entry: Entry) -> list[tuple[str, str]]:
    match entry:
        case TaskGiven(text=text):
            return [("task:", text)]
        case ModelTurn():
            said = [("agent said:", entry.text)] if entry.text else []
            return said + [(f"agent called {call.tool}:", json.dumps(dict(call.arguments), ensure_ascii=False)) for call in entry.calls]
        case CallEnded():
            return [(f"result of {entry.tool}: {entry.ending.value}", "\n".join(in_words(part) for part in entry.parts))]
        case CallStarted() | Compacted():
            return []


def _lines(turn: ModelTurn) -> list[str]:
    return [turn.text, *(json.dumps(dict(call.arguments), ensure_ascii=False) for call in turn.calls)]


def shortened(text: str, size: int) -> str:
    """Head and tail of a text that is longer than `size` characters."""
    if len(text) <= size:
        return text
    half = size // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _told(entries: Sequence[StoredEntry], last: Compacted, shown: Sequence[StoredEntry]) -> str:
    """The task stays in its own words as long as it is the one at work."""
    tasks = [stored for stored in entries if isinstance(stored.entry, TaskGiven)]
    newest = tasks[-1].entry if tasks and tasks[-1].seq <= last.through else None
    task = f"\n\nYour task, word for word:\n{newest.text}" if isinstance(newest, TaskGiven) else ""
    return f"{FRAME}{task}\n\nWhat happened so far, condensed:\n{last.summary}"


def _last_compacted(entries: Sequence[StoredEntry]) -> Compacted | None:
    return next((stored.entry for stored in reversed(entries) if isinstance(stored.entry, Compacted)), None)


def _last_turn(entries: Sequence[StoredEntry]) -> ModelTurn | None:
    return next((stored.entry for stored in reversed(entries) if isinstance(stored.entry, ModelTurn)), None)
