"""A second opinion: does another parser, `shfmt`, see the very same commands and redirects in a line?

Two parsers that err alike are rarer than one that errs. Where the program is missing nothing is confirmed.
"""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

SECONDS = 5
"""Far more than it ever needs: 3 ms."""

_JOINED = {"<": "<", ">": ">", ">>": ">>", ">|": ">|", "&>": "&>", "&>>": "&>>", ">&": ">&", "<&": "<&"}

Written = tuple[str, ...]


def confirmed(lines: Sequence[str], seen: Sequence[Written]) -> bool:
    """Does it see just these commands and redirects in these lines?"""
    other: Counter[Written] = Counter()
    for line in lines:
        found = _seen(line)
        if found is None:
            return False
        other.update(found)
    return other == Counter(each for each in seen if each)


def forget() -> None:
    """Ask anew about lines that were asked about before. For measuring."""
    _read.cache_clear()


@cache
def _program() -> str | None:
    beside = Path(sys.executable).parent / "shfmt"
    return str(beside) if beside.is_file() else shutil.which("shfmt")


def _seen(line: str) -> tuple[Written, ...] | None:
    """What it sees; None: it cannot read the line, or gave no answer, for which it is asked again the next time."""
    program = _program()
    if program is None:
        return None
    try:
        return _read(program, line)
    except (OSError, subprocess.TimeoutExpired):
        return None


@lru_cache(maxsize=512)
def _read(program: str, line: str) -> tuple[Written, ...] | None:
    """A frozen answer to a frozen question, so it is remembered. That there was none is raised, and is not."""
    ended = subprocess.run(  # noqa: S603 - our own program with fixed arguments; the line is its input
        [program, "-tojson", "-ln", "bash"], input=line.encode(), capture_output=True, timeout=SECONDS, check=False, close_fds=False
    )
    if ended.returncode != 0:
        return None
    return tuple(_commands(json.loads(ended.stdout), line.encode()))


def _commands(tree: object, line: bytes) -> Iterator[Written]:
    stack: list[object] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(cast("list[object]", node))
        elif isinstance(node, dict):
            fields = cast("dict[str, Any]", node)
            yield from _of(fields, line)
            stack.extend(fields.values())


def _of(fields: dict[str, Any], line: bytes) -> Iterator[Written]:
    match fields.get("Type"):
        case "CallExpr":
            written = tuple(_slice(each, line) for each in (*fields.get("Assigns", ()), *fields.get("Args", ())))
            if written and written[0] != "[":
                yield written
        case "DeclClause":
            yield (fields["Variant"]["Value"], *(_slice(each, line) for each in fields.get("Args", ())))
        case _:
            pass
    if "Op" in fields and "Word" in fields and fields["Op"] in _JOINED:
        yield (fields["Op"], _slice(fields["Word"], line))


def _slice(node: dict[str, Any], line: bytes) -> str:
    return line[node["Pos"].get("Offset", 0) : node["End"].get("Offset", 0)].decode(errors="replace")
