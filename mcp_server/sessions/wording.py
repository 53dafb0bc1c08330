"""How values are written for people: times, ages, spans, costs, paths of sessions, ids."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from mcp_server.records import Usage

SHORT = 12
"""Characters of an id in a list: the kind and 40 bits, enough to tell a person's own few thousands apart."""


def time_of(at: float) -> str:
    """Local time, to the second."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def age_of(at: float) -> str:
    """How long ago, in one unit."""
    seconds = max(0, int(time.time() - at))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def elapsed_of(seconds: float) -> str:
    """A span in its two largest units: `42 s`, `3 min 05 s`, `2 h 04 min`, `3 d 1 h`."""
    whole = max(0, int(seconds))
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole % 60:02} s" if minutes else f"{whole} s"


def span_of(seconds: float) -> str:
    """A span that somebody set, without what is zero: `12 h`, `1 h 30 min`, `45 s`."""
    whole = max(0, int(seconds))
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"


def cost_of(usage: Usage) -> str:
    """What it cost, as far as it is known."""
    if usage.cost is None:
        return "cost not known" if usage.unpriced else "no cost"
    return f"{'at least ' if usage.unpriced else ''}${usage.cost:.4f}"


def path_of(path: Sequence[str]) -> str:
    """`build › explore`."""
    return " › ".join(path)


def short(identity: str) -> str:
    """The start of an id. Commands take it as well as the whole."""
    return identity[:SHORT]
