"""`when`: tests of an upstream tool's arguments.

An argument that is absent, or not of the tested type, is a doubt: it makes a deny or ask match and an allow not. So is one that climbs
(`docs/../keys`) where a wildcard speaks of a path.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mcp_server.policy import wildcards
from mcp_server.policy.values import Condition

_ABSENT = object()

_CLIMBS = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")
"""A step up in a path: where that leads is known to the server alone."""


def hold(conditions: Sequence[Condition], arguments: Mapping[str, Any], *, in_doubt: bool) -> bool:
    """All of them hold, a doubtful one counting as `in_doubt`."""
    return all(in_doubt if answer is None else answer for answer in (_answer(each, arguments) for each in conditions))


def _answer(condition: Condition, arguments: Mapping[str, Any]) -> bool | None:
    """True, False, or None where it cannot be told. A plain False among the tests outweighs a doubt."""
    found = _at(condition.path, arguments)
    answers = tuple(_tests(condition, found))
    if not answers or found is _ABSENT:
        return None
    if False in answers:
        return False
    return None if None in answers else True


def _at(path: Sequence[str], arguments: Mapping[str, Any]) -> object:
    here: object = arguments
    for name in path:
        if not isinstance(here, Mapping) or name not in here:
            return _ABSENT
        here = here[name]  # pyright: ignore[reportUnknownVariableType] - JSON, told apart by its uses below
    return here  # pyright: ignore[reportUnknownVariableType] - likewise


def _tests(condition: Condition, found: object) -> list[bool | None]:
    answers: list[bool | None] = []
    if condition.equals is not None:
        answers.append(_same(condition.equals, found))
    if condition.matches is not None:
        answers.append(_matched(condition.matches, found))
    number = _number(found)
    if condition.minimum is not None:
        answers.append(None if number is None else number >= condition.minimum)
    if condition.maximum is not None:
        answers.append(None if number is None else number <= condition.maximum)
    if condition.one_of is not None:
        answers.append(_among(condition.one_of, found))
    return answers


def _matched(pattern: str, found: object) -> bool | None:
    if not isinstance(found, str):
        return None
    # Among words, `../` is no path but for a rule that speaks of paths.
    if _CLIMBS.search(found) and (re.search(r"[/\\]", pattern) or not re.search(r"\s", found)):
        return None
    return wildcards.matches(pattern, found)


def _number(found: object) -> int | float | None:
    if isinstance(found, bool) or not isinstance(found, int | float) or math.isnan(found):
        return None
    return found


def _among(choices: Sequence[Any], found: object) -> bool | None:
    answers = [_same(choice, found) for choice in choices]
    if True in answers:
        return True
    return False if False in answers else None


def _same(wanted: object, found: object) -> bool | None:
    """None: not of the same type. JSON's types, in which `true` is no number and 1 is 1.0."""
    one_type = type(wanted) is type(found)
    if _number(wanted) is not None and _number(found) is not None:
        return wanted == found
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return _alike(cast("Sequence[object]", wanted), cast("Sequence[object]", found))
    if isinstance(wanted, dict) and isinstance(found, dict):
        left, right = cast("dict[str, object]", wanted), cast("dict[str, object]", found)
        return left.keys() == right.keys() and _alike(list(left.values()), [right[name] for name in left])
    return wanted == found if one_type else None


def _alike(wanted: Sequence[object], found: Sequence[object]) -> bool:
    return len(wanted) == len(found) and all(_same(one, other) is True for one, other in zip(wanted, found, strict=True))
