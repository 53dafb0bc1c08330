"""Wildcards: `*` is any run of characters, `?` is exactly one, the rest is literal. Whole-string, linear time.

Only text against text. What a rule's patterns are matched with is `matching`.
"""

import fnmatch
import re
from collections.abc import Callable, Collection
from functools import lru_cache

PatternTest = Callable[[str], bool]

_RUN = re.compile(r"\*+")
_WILD = re.compile(r"[*?]")


def plain(text: str) -> bool:
    """Holds no wildcard: the pattern matches nothing but itself."""
    return "*" not in text and "?" not in text


def blanket(pattern: str) -> bool:
    """Matches everything."""
    return pattern != "" and not pattern.strip("*")


def forms(pattern: str) -> tuple[str, ...]:
    """The pattern, and the pattern without its trailing ` *`, which is optional. Runs of `*` become one."""
    folded = _RUN.sub("*", pattern)
    return (folded, folded[:-2]) if folded.endswith(" *") else (folded,)


def longest_literal(form: str) -> str:
    """The longest run without a wildcard: whatever the form matches holds it."""
    return max(_WILD.split(form), key=len)


def expression(form: str) -> str:
    """The form as a regular expression without groups, for the whole of a text.

    The standard translation searches each literal part once, from left to right, and never goes back.
    """
    return fnmatch.translate(form.replace("[", "[[]"))


def matches(pattern: str, text: str) -> bool:
    """Does the whole of `text` match?"""
    return test_of(pattern)(text)


@lru_cache(maxsize=8192)
def test_of(pattern: str) -> PatternTest:
    """The pattern as a compiled test."""
    tests = tuple(_test(form) for form in forms(pattern))
    if len(tests) == 1:
        return tests[0]
    first, second = tests
    return lambda text: first(text) or second(text)


def _test(form: str) -> PatternTest:
    if form == "*":
        return lambda _text: True
    if plain(form):
        return form.__eq__
    if form.endswith("*") and plain(form[:-1]):
        head = form[:-1]
        return lambda text: text.startswith(head)
    if form.startswith("*") and plain(form[1:]):
        tail = form[1:]
        return lambda text: text.endswith(tail)
    compiled = re.compile(expression(form))
    return lambda text: compiled.match(text) is not None


def listed(name: str, names: Collection[str]) -> bool:
    """Does a list of names, some of which may be patterns, hold this one?"""
    return name in names or any(not plain(each) and matches(each, name) for each in names)


# ---- patterns against patterns ------------------------------------------------------------------


def contains(wide: str, narrow: str) -> bool:
    """Whatever `narrow` matches, `wide` matches too. Sound: True is certain, False may only mean not plainly so."""
    return all(any(_swallows(outer, inner) for outer in forms(wide)) for inner in forms(narrow))


def _swallows(wide: str, narrow: str) -> bool:
    """`narrow` read as text in which its own `*` is a letter that only a `*` of `wide` takes."""
    i = j = mark = 0
    star = -1
    while j < len(narrow):
        if i < len(wide) and wide[i] == "*":
            star, mark, i = i, j, i + 1
        elif i < len(wide) and narrow[j] != "*" and wide[i] in ("?", narrow[j]):
            i, j = i + 1, j + 1
        elif star >= 0:
            mark += 1
            i, j = star + 1, mark
        else:
            return False
    return not wide[i:].strip("*")


def may_overlap(one: str, other: str) -> bool:
    """Some text may match both. Sound the other way: False is certain, True may only mean not plainly apart."""
    return any(_compatible(a, b) for a in forms(one) for b in forms(other))


def _compatible(one: str, other: str) -> bool:
    if plain(one):
        return matches(other, one)
    if plain(other):
        return matches(one, other)
    heads = (_WILD.split(one)[0], _WILD.split(other)[0])
    tails = (_WILD.split(one)[-1], _WILD.split(other)[-1])
    return (heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])) and (tails[0].endswith(tails[1]) or tails[1].endswith(tails[0]))
