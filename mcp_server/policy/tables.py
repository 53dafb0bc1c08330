"""Many patterns against one text at once: the last of a numbered list that matches it.

Only text against text, as in `wildcards`. What is compiled here holds nothing that the patterns do not.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mcp_server.policy import wildcards

NONE = -1
"""No pattern: below every number."""

_MANY = 100
"""Up to so many beginnings one expression tries them all in next to no time; of more, a look-up by length is faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Patterns by what they need."""

    blanket: int
    """The last that matches everything; `NONE` where none does."""
    exact: Mapping[str, int]
    """What a text may be, letter by letter. No number in it is below `blanket`."""
    starts: Callable[[str], re.Match[str] | None] | None
    """All that begin with a letter of their own, as alternatives, last first; which one matched is its group."""
    numbers: tuple[int, ...]
    """By group of `starts`. The groups begin at 1."""
    heads: tuple[tuple[int, Mapping[str, int]], ...]
    """By length: what the text starts with, where that is too much for `starts`."""
    tails: tuple[tuple[int, Mapping[str, int]], ...]
    others: tuple[tuple[int, str, wildcards.PatternTest], ...]
    """What remains, last first, each with a text that whatever it matches must hold: looking for that first is cheap."""
    rest: bool
    """There are `heads`, `tails` or `others`."""

    def last(self, text: str) -> int:
        """The number of the last pattern that matches; `NONE` where none does."""
        best = self.exact.get(text, self.blanket)
        if self.starts is not None and (match := self.starts(text)) is not None:
            found = self.numbers[match.lastindex or 0]
            best = best if found < best else found
        return self._last_of_the_rest(text, best) if self.rest else best

    def _last_of_the_rest(self, text: str, best: int) -> int:
        for length, heads in self.heads:
            best = max(best, heads.get(text[:length], NONE))
        for length, tails in self.tails:
            best = max(best, tails.get(text[-length:], NONE))
        for number, needed, test in self.others:
            if number <= best:
                break
            if needed in text and test(text):
                return number
        return best


class _Sorting:
    """Patterns on their way into a table, by what they need."""

    def __init__(self) -> None:
        self.blanket = NONE
        self.exact: dict[str, int] = {}
        self.heads: dict[str, int] = {}
        self.tails: dict[str, int] = {}
        self.inner: dict[str, int] = {}
        self.others: dict[str, int] = {}

    def put(self, number: int, form: str) -> None:
        """Of two that are alike the later one stays."""
        if form == "*":
            self.blanket = number
        elif wildcards.plain(form):
            self.exact[form] = number
        elif form.endswith("*") and wildcards.plain(form[:-1]):
            self.heads[form[:-1]] = number
        elif form.startswith("*") and wildcards.plain(form[1:]):
            self.tails[form[1:]] = number
        elif form[0] in "*?":
            self.others[form] = number
        else:
            self.inner[form] = number


def tabulate(patterns: Sequence[tuple[int, str]]) -> Table:
    """A table of numbered patterns. Where two are alike the larger number stays."""
    sorting = _Sorting()
    for number, pattern in sorted(patterns):
        for form in wildcards.forms(pattern):
            sorting.put(number, form)
    few = len(sorting.heads) <= _MANY
    starting = [(number, wildcards.expression(form)) for form, number in sorting.inner.items()]
    starting += [(number, re.escape(head)) for head, number in sorting.heads.items()] if few else []
    starting.sort(key=lambda each: each[0], reverse=True)
    others = sorted(sorting.others.items(), key=lambda each: each[1], reverse=True)
    heads = () if few else _by_length(sorting.heads)
    return Table(
        blanket=sorting.blanket,
        exact={form: max(number, sorting.blanket) for form, number in sorting.exact.items()},
        starts=_alternatives(tuple(expression for _, expression in starting)) if starting else None,
        numbers=(NONE, *(number for number, _ in starting)),
        heads=heads,
        tails=_by_length(sorting.tails),
        others=tuple((number, wildcards.longest_literal(form), wildcards.test_of(form)) for form, number in others),
        rest=bool(heads or sorting.tails or others),
    )


@lru_cache(maxsize=512)
def _alternatives(expressions: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Kept, because compiling is dear and the lists of many sessions differ in little."""
    return re.compile("|".join(f"{each}()" for each in expressions)).match


def _by_length(texts: Mapping[str, int]) -> tuple[tuple[int, Mapping[str, int]], ...]:
    lengths: dict[int, dict[str, int]] = {}
    for text, number in texts.items():
        lengths.setdefault(len(text), {})[text] = number
    return tuple(lengths.items())
