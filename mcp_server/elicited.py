"""What another MCP server asks of a person, as it is kept: a flat form, or a link. Never an approval, and no answer to it permits anything.

How it is read out of the protocol is not known here, nor how it is shown. Texts are the server's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool | list[str]
"""What a person can give for one field."""

Action = Literal["accept", "decline", "cancel"]
"""As the protocol has them: given, refused, and left without a choice."""

Format = Literal["email", "uri", "date", "date-time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One of several values to choose from."""

    value: str
    title: str = ""
    """Empty: it is shown by its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What every field has."""

    name: str
    title: str = ""
    description: str = ""
    required: bool = False

    @property
    def label(self) -> str:
        """What it is shown by."""
        return self.title or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField(Field):
    """A text. Lengths in characters."""

    kind: Literal["text"] = "text"
    format: Format | None = None
    least: int = 0
    most: int | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(Field):
    """A number."""

    kind: Literal["number"] = "number"
    whole: bool = False
    least: float | None = None
    most: float | None = None
    default: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanField(Field):
    """Yes or no."""

    kind: Literal["boolean"] = "boolean"
    default: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField(Field):
    """One of several values."""

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesField(Field):
    """Any number of several values, within bounds."""

    kind: Literal["choices"] = "choices"
    options: tuple[Option, ...]
    least: int = 0
    most: int | None = None
    default: tuple[str, ...] | None = None


AnyField = TextField | NumberField | BooleanField | ChoiceField | ChoicesField


@dataclass(frozen=True, slots=True, kw_only=True)
class FormAsked:
    """To be filled in. The values go to the server that asks, and nowhere else."""

    kind: Literal["form"] = "form"
    message: str
    fields: tuple[AnyField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAsked:
    """To be opened, http or https. What happens there is between the person and whoever is behind it."""

    kind: Literal["link"] = "link"
    message: str
    url: str
    host: str
    """Where it leads, as a browser would know it: no name that only looks like another."""
    ref: str = ""
    """What it is known by here once its server says that it is done with. Empty: the server will not say."""


Asked = FormAsked | LinkAsked


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationSubject:
    """What a server asks while a call of it is under way."""

    kind: Literal["elicitation"] = "elicitation"
    server: str
    """By the settings' name."""
    tool: str
    """The call's, as it is offered here."""
    asked: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """What the server is told."""

    action: Action
    content: Mapping[str, Value] | None = None
    """Of an accepted form alone."""


CANCELLED = Replied(action="cancel")

DONE_WITH = "its server says that it is done with"
"""Why a link is asked about no more that nobody has said to have opened."""
