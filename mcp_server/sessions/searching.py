"""Looking through the audit: what to show of it, and one event as a row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_server.records import AuditEvent
from mcp_server.sessions.wording import path_of, time_of

KINDS = ("decision", "key", "look", "outcome", "prompt", "ruling", "run", "session", "trust")
ACTIONS = ("allow", "ask", "deny")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
HEADS = ("TIME", "WHO", "TOOL", "WHAT", "RULES", "BY", "OUTCOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events to show. None filters nothing."""

    tool: str | None = None
    kind: str | None = None
    action: str | None = None
    since: float | None = None
    ref: str | None = None
    """A call, prompt, ruling or run, by its id or the start of it."""

    def __call__(self, event: AuditEvent) -> bool:
        return (
            (self.tool is None or event.tool == self.tool)
            and (self.kind is None or event.kind == self.kind)
            and (self.action is None or (event.action is not None and event.action.word == self.action))
            and (self.since is None or event.at >= self.since)
            and (self.ref is None or event.ref.startswith(self.ref))
        )


def since(text: str, *, now: float) -> float | None:
    """The time that `30m`, `2h`, `7d`, or a date and time mean. None: it is none of these."""
    if span := re.fullmatch(r"(\d{1,9})([smhd])", text):
        return now - int(span[1]) * UNITS[span[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def row(event: AuditEvent) -> tuple[str, ...]:
    """One event as the table has it, under `HEADS`."""
    verdict = f"{event.action.word} ({event.step.value})" if event.action is not None and event.step is not None else ""
    what = " ".join(part for part in (event.kind, verdict) if part)
    return (time_of(event.at), path_of(event.session_path), event.tool, what, "; ".join(event.rules), event.ruled_by, event.outcome)


def tabulated(events: Sequence[AuditEvent]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows; with a last column of the arguments where the audit holds any of theirs."""
    if not any(event.arguments for event in events):
        return HEADS, [row(event) for event in events]
    return (*HEADS, "ARGUMENTS"), [(*row(event), event.arguments) for event in events]
