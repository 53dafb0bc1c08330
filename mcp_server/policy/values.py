"""The frozen values that policy speaks in: actions, modes, rules, layers, requests.

Pure data. How they are matched is `matching`, how they decide is `decide`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Literal, NewType


class Action(IntEnum):
    """What a rule says, and what a decision comes to. Ordered by strictness: the larger wins."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """The word used in files and texts."""
        return self.name.lower()


class Mode(StrEnum):
    """What answers silence."""

    DONT_ASK = "dontAsk"
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypassPermissions"


MODES_STRICTEST_FIRST = (Mode.DONT_ASK, Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.BYPASS)
"""The order in which a mode may only get stricter."""


class Reach(StrEnum):
    """How far a person's ruling carries."""

    ONCE = "once"
    SESSION = "session"
    TREE = "tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One test of an upstream tool's argument: equals, wildcard, range or membership."""

    path: tuple[str, ...]
    equals: Any = None
    matches: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    one_of: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`permission pattern action`. Both names are wildcards; see `matching`."""

    permission: str
    pattern: str
    action: Action
    anchored: str | None = None
    """The pattern as matched against paths: anchored at its source's workspace when it was loaded.
    None: `pattern` itself (it starts with `*` or has a root)."""
    scope: Literal["tree", "self"] = "tree"
    when: tuple[Condition, ...] = ()
    reason: str | None = None
    opaque: bool = False
    """An allow that vouches for parts of a command that cannot be read."""
    answer_by: str | None = None
    reach: Reach | None = None
    origin: str = ""
    """Where it is written, `file:line`, or empty for rules that no file holds."""

    def __str__(self) -> str:
        return f"{self.permission} {self.pattern} {self.action.word}"


class LayerKind(StrEnum):
    """Who speaks. The table of DESIGN section 2."""

    MANAGED = "managed"
    PERSON = "person"
    PROJECT = "project"
    GUARD = "guard"
    AGENT = "agent"
    CEILING = "ceiling"
    DERIVED = "derived"
    RULED = "ruled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """An ordered list of rules with a source. Evaluated whole: the last matching rule is its opinion."""

    kind: LayerKind
    owner: str
    """Whose rules they are, in words that a person reads: `agent plan`, `user settings`, `built-in guard`.
    The same for an agent's layer and for the ceiling it makes, so that an ask keeps its name across a spawn."""
    rules: tuple[Rule, ...]
    may_allow: bool
    """False: an allow counts as no opinion (guard, ceiling, derived, ruled, an untrusted project)."""
    lends_folders: bool = False
    """An ancestor's own agent layer: its allows of literally `external_directory` are heard all the same."""
    readings: dict[tuple[str, bool], Any] = field(init=False, repr=False, compare=False, default_factory=dict[tuple[str, bool], Any])
    """What `layers` has made of the rules, by what is asked: its own business. No part of the value, as it holds nothing that the rules
    do not."""
    concerns: dict[tuple[str, ...], Any] = field(init=False, repr=False, compare=False, default_factory=dict[tuple[str, ...], Any])
    """Likewise what `effects` has made of them."""


# ---- what is asked ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainValue:
    """A value that is compared as text: a URL, a query, a tool's name, `*`."""

    text: str
    note: str = ""
    """What else a person who is asked must see of it; no rule looks at it."""
    forms: tuple[str, ...] = ()
    """Other ways to write it: a deny or ask matches any of them, an allow none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathValue:
    """A file or folder. All three forms are absolute or workspace-relative POSIX text."""

    resolved: str
    """Absolute, `..` and links resolved."""
    relative: str | None
    """`resolved` relative to the workspace; None outside it."""
    unresolved: str
    """Absolute, as asked for: `..` folded away as text, links not followed."""
    ignore_case: bool = False
    """The file system it lies on does not tell case apart."""

    @property
    def text(self) -> str:
        """What a person is shown."""
        return self.relative if self.relative is not None else self.resolved

    @property
    def inside(self) -> bool:
        """It lies in the workspace."""
        return self.relative is not None


EFFECTS = ("edit", "read", "webfetch")
"""What a program may do besides being run, by the permissions that speak of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandValue:
    """One simple shell command."""

    text: str
    """As written. An allow rule matches this form only."""
    forms: tuple[str, ...] = ()
    """With path, quotes, assignments and wrappers peeled. A deny or ask rule matches any form."""
    opaque: bool = False
    """Holds a part that cannot be read."""
    read_only: bool = False
    """Stands in the read-only table with harmless flags, stays inside, prints nothing that `read` would not allow."""
    effects_known: bool = False
    """False: it may read, write or fetch what no request of this call names."""
    unseen: tuple[str, ...] = EFFECTS
    """Where its effects are not known: which permissions they may concern."""
    offer: str | None = None
    """The pattern of the rule that a person may be offered for it; empty: none. None: its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnValue:
    """An agent that `task` would start."""

    text: str
    widening: tuple[str, ...] = ()
    """What the child could do without asking that its caller could not, a line each, for the prompt."""
    handed: tuple[str, ...] = ()
    """Rulings of the caller that the child would get, a line each. Asked of the person in every mode, whatever allows the spawn."""


Value = PlainValue | PathValue | CommandValue | SpawnValue


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRef:
    """Names one ask so that a ruling can say which it answered: an asking rule by owner and text, or silence."""

    owner: str
    """`Layer.owner`; `silence` where no layer had an opinion."""
    rule: str
    """`str(rule)`; for silence, and for a widening spawn, the permission asked."""

    def __str__(self) -> str:
        return f"{self.owner}: {self.rule}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one call asks of one permission. Without values it is denied."""

    permission: str
    values: tuple[Value, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The call's arguments, for `when`. Empty for built-in tools."""
    besides: tuple[AskRef, ...] = ()
    """Asks that a person who must be asked for this anyway is shown too, and lifts with it. They never make it ask."""
    notes: tuple[str, ...] = ()
    """What such a person must see besides the values."""
    guards: tuple[Layer, ...] = ()
    """Layers that speak of this very request beside the session's own, none of which may allow."""


CallId = NewType("CallId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a model or a client asks for."""

    id: CallId
    tool: str
    arguments: Mapping[str, Any]
