"""Which of a program's words are options, their values and operands, by a table. Knows no program itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from mcp_server.shell.model import Sort, Word


class Role(StrEnum):
    """What a word is to a program. The letters are those of the tables."""

    TEXT = "T"
    READ = "R"
    WRITE = "W"
    BOTH = "B"
    """Read and written."""
    CODE = "X"
    """Runs something, or names a file of further options."""
    URL = "U"
    NAMES = "F"
    """A folder whose names are listed; nothing in it is read."""
    TREE = "D"
    """A file, or a folder that is read with all that lies in it."""
    TARGET = "C"
    """A folder that files are put into."""
    FLAG = "-"
    """An option without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One program's options and operands."""

    operands: str = ""
    """A role for each operand. `*` behind one: that many and more of it; what stands behind the star are the last ones."""
    options: Mapping[str, Role] = field(default_factory=dict[str, Role])
    harmless: bool = False
    """It changes nothing but through what its roles name."""
    sound: bool = False
    """No option of it does harm: words that are not known may stand anywhere."""
    numbers: bool = False
    """`-5` is an option."""
    single: bool = False
    """Long options have one dash."""
    source: str = ""

    def role(self, option: str) -> Role | None:
        """An option's, abbreviated long ones included; None: it is not known."""
        found = self.options.get(option)
        if found is not None or not option.startswith("--"):
            return found
        close = {role for name, role in self.options.items() if name.startswith(option)}
        return max(close, key=lambda role: _WORST.index(role), default=None)


_WORST = (Role.FLAG, Role.TEXT, Role.NAMES, Role.READ, Role.TREE, Role.URL, Role.TARGET, Role.WRITE, Role.BOTH, Role.CODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One word with its role."""

    role: Role
    word: Word
    option: str = ""
    """The option that it is, or whose value it is; empty for operands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A program's words, told apart."""

    given: tuple[Given, ...]
    unknown_options: bool
    """Some option is not in the table, or a word whose text is not known stands where an option may."""

    def has(self, *options: str) -> bool:
        """Is one of these given?"""
        return any(each.option in options for each in self.given)

    def of(self, *roles: Role) -> Iterator[Given]:
        """Those with one of these roles."""
        return (each for each in self.given if each.role in roles)


@cache
def options(text: str) -> Mapping[str, Role]:
    """A table written short: `-nru -k:T --output:W`. A cluster of letters stands for one option each; without a colon: a flag."""
    made: dict[str, Role] = {}
    for item in text.split():
        name, _, role = item.partition(":")
        names = [name] if name.startswith("--") or len(name) <= 2 or role else [f"-{letter}" for letter in name[1:]]
        made.update(dict.fromkeys(names, Role(role) if role else Role.FLAG))
    return made


def parsed(words: tuple[Word, ...], grammar: Grammar) -> Parsed:
    """Tell the words behind a program's name apart."""
    reader = _Reader(grammar)
    rest = list(words)
    while rest:
        reader.take(rest)
    return Parsed(given=(*reader.given, *_operands(reader.operands, grammar.operands)), unknown_options=reader.unknown)


class _Reader:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.given: list[Given] = []
        self.operands: list[Word] = []
        self.unknown = False
        self._ended = False

    def take(self, rest: list[Word]) -> None:
        word = rest.pop(0)
        text = word.text
        if word.sort is not Sort.PLAIN:
            self.unknown = self.unknown or not (self._ended or word.under or self.grammar.sound)
            self.operands.append(word)
        elif self._ended or not text.startswith("-") or text == "-":
            self.operands.append(word)
        elif text == "--":
            self._ended = True
        elif text.startswith("--") or self.grammar.single:
            self._long(word, rest)
        else:
            self._cluster(word, rest)

    def _long(self, word: Word, rest: list[Word]) -> None:
        name, equals, value = word.text.partition("=")
        role = self.grammar.role(name)
        if role is None:
            self.unknown = True
        elif role is Role.FLAG:
            self.given.append(Given(role=role, word=word, option=name))
        elif equals:
            self.given.append(Given(role=role, word=Word(raw=value, text=value), option=name))
        else:
            self._value(role, name, rest)

    def _cluster(self, word: Word, rest: list[Word]) -> None:
        text = word.text
        if self.grammar.numbers and text[1:].isdigit():
            return
        for at in range(1, len(text)):
            name = f"-{text[at]}"
            role = self.grammar.options.get(name)
            if role is None:
                self.unknown = True
                return
            if role is Role.FLAG:
                self.given.append(Given(role=role, word=word, option=name))
                continue
            if at + 1 < len(text):
                self.given.append(Given(role=role, word=Word(raw=text[at + 1 :], text=text[at + 1 :]), option=name))
            else:
                self._value(role, name, rest)
            return

    def _value(self, role: Role, name: str, rest: list[Word]) -> None:
        if not rest:
            self.unknown = True
            return
        value = rest.pop(0)
        if value.sort is Sort.MANY:
            self.unknown = self.unknown or not self.grammar.sound
        self.given.append(Given(role=role, word=value, option=name))


def _operands(words: list[Word], pattern: str) -> Iterable[Given]:
    """Roles for operands: `TR*` is a text and then files, `R*W` files and last of all where they go."""
    if not pattern:
        return [Given(role=Role.TEXT, word=word) for word in words]
    before, star, behind = pattern.partition("*")
    last = len(behind) if star and len(words) > len(behind) else 0
    roles: list[str] = []
    for at in range(len(words)):
        from_end = len(words) - at
        if last and from_end <= last:
            roles.append(behind[last - from_end])
        else:
            roles.append(before[min(at, len(before) - 1)] if star or at < len(before) else before[-1])
    return [Given(role=Role(role), word=word) for role, word in zip(roles, words, strict=True)]
