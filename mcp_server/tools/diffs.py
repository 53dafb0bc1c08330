"""A short unified diff for the result of an edit."""

import difflib

MAX_DIFF = 60
"""Lines shown; a model needs to see that it hit the right place, not the whole file."""

MAX_COMPARED = 3000
"""Lines compared. Comparing takes time by the square of it."""

AROUND = 3
"""Unchanged lines shown before and after."""


def short_diff(before: bytes, after: bytes, name: str) -> str:
    """The changed lines with a few around them; empty where nothing changed."""
    old = before.decode(errors="replace").splitlines()
    new = after.decode(errors="replace").splitlines()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first = max(0, start - AROUND)
    old_part = old[first : len(old) - max(0, end - AROUND)]
    new_part = new[first : len(new) - max(0, end - AROUND)]
    if len(old_part) + len(new_part) > MAX_COMPARED:
        return f"(the change spans {len(new_part):,} lines; no diff shown)"
    lines = list(difflib.unified_diff(old_part, new_part, name, name, n=AROUND, lineterm=""))
    lines = [_moved(line, first) if line.startswith("@@") else line[:300] for line in lines]
    left = len(lines) - MAX_DIFF
    return "\n".join(lines[:MAX_DIFF]) + (f"\n(… {left} more lines)" if left > 0 else "")


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _moved(header: str, by: int) -> str:
    """`@@ -1,4 +1,5 @@` for lines that begin further down the file."""
    ranges = [part[0] + _shifted(part[1:], by) for part in header.split()[1:3]]
    return f"@@ {' '.join(ranges)} @@"


def _shifted(numbers: str, by: int) -> str:
    start, _, length = numbers.partition(",")
    return f"{int(start) + by}{',' + length if length else ''}"
