"""YAML as a person may rely on it: plain data with line numbers, and every doubt a fault.

Built over PyYAML's events. Refused: a key written twice, anchors, aliases, merge keys, tags, keys that YAML reads as
something other than text (`on`, `no`, `1`), several documents. Plain `yes`, `on` and the like are text where they are
values, as in YAML 1.2. Nothing is constructed but dict, list, str, int, float, bool and None.

Not a schema: what the values mean is for the reader above to say.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import yaml

from mcp_server.errors import Fault

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]
Place = tuple[str | int, ...]
"""Keys and indexes from the top of a document to one value."""

MAX_CHARACTERS = 1_000_000
"""Longest text that is read: PyYAML takes about 20 s a million, and no file that a person writes comes near."""

MAX_DEPTH = 40
"""Deepest nesting: far above any schema here, far below Python's recursion limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text, read. With faults, `value` holds what could be read in spite of them: enough to find more faults, not to be used."""

    file: str
    value: Plain
    lines: Mapping[Place, int]
    """The line of each key and each list item."""
    first_line: int
    faults: tuple[Fault, ...]

    def line(self, place: Place) -> int:
        """1-based line of a value, or of the nearest thing around it that is written."""
        for length in range(len(place), 0, -1):
            found = self.lines.get(place[:length])
            if found is not None:
                return found
        return self.first_line

    def fault(self, place: Place, problem: str, remedy: str) -> Fault:
        """A fault at that value's line."""
        return Fault(file=self.file, line=self.line(place), problem=problem, remedy=remedy)


def read_yaml(text: str, file: str, *, first_line: int = 1) -> Document:
    """Read one document. Never raises: what is wrong with the text is in `faults`, all that can be found at once.

    Args:
        text: The document.
        file: Its name in faults.
        first_line: The line of the file on which the text starts.
    """
    if len(text) > MAX_CHARACTERS:
        fault = Fault(
            file=file, line=None, problem=f"longer than {MAX_CHARACTERS:,} characters", remedy="split it or remove what is not needed"
        )
        return Document(file=file, value=None, lines={}, first_line=first_line, faults=(fault,))
    builder = _Builder(file=file, shift=first_line)
    value: Plain = None
    try:
        value = builder.document(yaml.parse(text, Loader=yaml.SafeLoader))
    except _TooDeep as deep:
        builder.report(deep.line, f"nested deeper than {MAX_DEPTH} levels", "flatten it")
    except yaml.YAMLError as error:
        line, problem, remedy = _syntax(error, text)
        builder.report(line, problem, remedy)
    return Document(file=file, value=value, lines=MappingProxyType(builder.lines), first_line=first_line, faults=tuple(builder.faults))


class _TooDeep(Exception):
    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


@dataclass(slots=True, kw_only=True)
class _Builder:
    """Makes plain data of events, and notes lines and faults as it goes. Lives for one document."""

    file: str
    shift: int
    lines: dict[Place, int] = field(default_factory=dict[Place, int])
    faults: list[Fault] = field(default_factory=list[Fault])

    def report(self, line: int, problem: str, remedy: str) -> None:
        """Note a fault. `line` is 0-based within the text."""
        self.faults.append(Fault(file=self.file, line=line + self.shift, problem=problem, remedy=remedy))

    def document(self, events: Iterator[yaml.Event]) -> Plain:
        value: Plain = None
        seen = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                seen += 1
                if seen > 1:
                    self.report(_line(event), "a second document starts here", "keep one document a file; remove the `---`")
                    return value
            elif isinstance(event, yaml.NodeEvent):
                value = self.node(event, events, ())
        return value

    def node(self, event: yaml.Event, events: Iterator[yaml.Event], place: Place) -> Plain:
        line = _line(event)
        if len(place) > MAX_DEPTH:
            raise _TooDeep(line)
        if place:
            self.lines.setdefault(place, line + self.shift)
        self.refuse_marks(event, line)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(events, place)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(events, place)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.style is None else event.value
        return None

    def refuse_marks(self, event: yaml.Event, line: int) -> None:
        if isinstance(event, yaml.AliasEvent):
            self.report(line, f"`*{event.anchor}` is an alias", 'write the value out; a pattern that starts with * needs quotes: "*"')
            return
        if getattr(event, "anchor", None) is not None:
            self.report(line, f"`&{getattr(event, 'anchor', '')}` is an anchor", "remove it and write the value out where it is used")
        if getattr(event, "tag", None) is not None:
            self.report(line, f"`{getattr(event, 'tag', '')}` is a tag", "remove it; a text that starts with ! needs quotes")

    def sequence(self, events: Iterator[yaml.Event], place: Place) -> Plain:
        items: list[Plain] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self.node(event, events, (*place, len(items))))
        return items

    def mapping(self, events: Iterator[yaml.Event], place: Place) -> Plain:
        entries: dict[str, Plain] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self.key(event, events, place)
            line = _line(event)
            repeated = key in entries
            if repeated:
                first = self.lines[(*place, key)]
                self.report(line, f"the key `{key}` stands twice, first on line {first}", "keep one of them")
            else:
                self.lines[(*place, key)] = line + self.shift
            value = self.node(next(events), events, (*place, key))
            if not repeated:
                entries[key] = value
        return entries

    def key(self, event: yaml.Event, events: Iterator[yaml.Event], place: Place) -> str:
        line = _line(event)
        if not isinstance(event, yaml.ScalarEvent):
            self.refuse_marks(event, line)
            if not isinstance(event, yaml.AliasEvent):
                self.report(line, "a list or map stands where a key belongs", "use plain text as the key")
                self.skip(event, events)
            return f"?{line}"
        self.refuse_marks(event, line)
        if event.style is None:
            self.refuse_word(event.value, line)
        return event.value

    def refuse_word(self, word: str, line: int) -> None:
        if word == "<<":
            self.report(line, "`<<` merges another map", "write the keys out")
        elif _BOOLEAN_WORD.fullmatch(word):
            self.report(line, f"the key `{word}` is read as true or false by some", f'put quotes around it: "{word}"')
        elif not isinstance(_scalar(word), str):
            self.report(line, f"the key `{word}` is not read as text", f'put quotes around it: "{word}"')

    def skip(self, event: yaml.Event, events: Iterator[yaml.Event]) -> None:
        depth = 1
        while depth:
            event = next(events)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)


def _line(event: yaml.Event) -> int:
    """0-based line on which an event starts; every event that a parser gives has one."""
    return 0 if event.start_mark is None else event.start_mark.line


_BOOLEAN_WORD = re.compile(r"yes|no|on|off|true|false", re.IGNORECASE)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?((\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")
_WORDS: Mapping[str, Plain] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


def _scalar(text: str) -> Plain:
    """A plain scalar as YAML 1.2 reads it; what is ambiguous (`010`, `12:30`, a date, infinity) stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


_BARE_STAR = re.compile(r"""(^|[\s{\[,:-])\*""")


def _syntax(error: yaml.YAMLError, text: str) -> tuple[int, str, str]:
    """0-based line, problem and remedy of a text that is no YAML."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = 0 if mark is None else mark.line
        problem = " ".join(part for part in (error.context, error.problem) if part)
    else:
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position)
        problem = "a character that YAML does not allow"
    written = text.splitlines()[line : line + 1]
    if "\t" in "".join(written)[:1]:
        return line, "not YAML: a tab indents this line", "indent with spaces"
    if written and "alias" in problem and _BARE_STAR.search(written[0]):
        return line, "not YAML: a bare * starts a word", 'put the pattern in quotes: "*"'
    return line, f"not YAML: {problem}", "mend this line or the one above it"
