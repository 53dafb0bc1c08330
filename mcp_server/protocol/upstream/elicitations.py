"""From what a server sends as `elicitation/create` to what a person can be asked. What is not plainly a flat form or a web link is refused.

Texts of the server's are kept within bounds; how they are shown so that they pass for nothing else is for whoever shows them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, cast

from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from mcp_server.elicited import (
    AnyField,
    Asked,
    BooleanField,
    ChoiceField,
    ChoicesField,
    FormAsked,
    Format,
    LinkAsked,
    NumberField,
    Option,
    TextField,
)
from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream.cleaning import within
from mcp_server.sessions.fitting import LARGEST
from mcp_server.tools.web.urls import read_url

LARGEST_FORM = 64 * 1024
"""Bytes of a form's schema as JSON. A person has to read it."""

MOST_FIELDS = 30
MOST_OPTIONS = 200
LONGEST_NAME = 100
LONGEST_TITLE = 500
LONGEST_VALUE = 500
"""Bytes of one value to choose."""

LONGEST_MESSAGE = 8000
"""Bytes; the rest is cut, and marked as cut."""

_FORMATS: Mapping[str, Format] = {"email": "email", "uri": "uri", "date": "date", "date-time": "date-time"}


class NotPut(Exception):
    """It is put before nobody. The text says why, for the server and for the model."""


def asked_in(params: ElicitRequestParams, ref: str = "") -> Asked:
    """What the person is asked. `ref`: what a link is known by here.

    Raises:
        NotPut: It is nothing that a person is asked.
    """
    message = within(params.message, LONGEST_MESSAGE)
    match params:
        case ElicitRequestURLParams(url=url):
            return _link(message, url, ref)
        case ElicitRequestFormParams(requested_schema=schema):
            return FormAsked(message=message, fields=_fields(schema))


def _link(message: str, url: str, ref: str) -> LinkAsked:
    try:
        found = read_url(url)
    except ToolFailure:
        why = "it is no whole http or https address, or holds a user, a password, or what hides where it leads"
        raise NotPut(f"it wants a link opened that nobody is sent to: {why}") from None
    _, mark, fragment = url.strip().partition("#")
    return LinkAsked(message=message, url=within(f"{found.text}{mark}{fragment}", LONGEST_MESSAGE), host=found.authority, ref=ref)


class _Read(BaseModel):
    """A part of a schema. What is not named here says nothing to a person; the server checks it."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _Titled(_Read):
    const: str
    title: str = ""


class _Items(_Read):
    enum: list[str] | None = None
    each: list[_Titled] | None = Field(default=None, alias="anyOf")


class _Property(_Read):
    type: Literal["string", "number", "integer", "boolean", "array"]
    title: str = ""
    description: str = ""
    default: Any = None
    format: str | None = None
    shortest: NonNegativeInt = Field(default=0, alias="minLength")
    longest: NonNegativeInt | None = Field(default=None, alias="maxLength")
    minimum: float | None = Field(default=None, allow_inf_nan=False)
    maximum: float | None = Field(default=None, allow_inf_nan=False)
    enum: list[str] | None = None
    names: list[str] = Field(default=[], alias="enumNames")
    each: list[_Titled] | None = Field(default=None, alias="oneOf")
    items: _Items | None = None
    fewest: NonNegativeInt = Field(default=0, alias="minItems")
    most: NonNegativeInt | None = Field(default=None, alias="maxItems")

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, said: Any) -> Any:
        """What some libraries write for a field that may be left out: its own schema, or null."""
        match said:
            case {"anyOf": [{"type": kind}, {"type": "null"}]} if "type" not in said and kind != "null":
                return {**said, **cast(dict[str, Any], said["anyOf"][0])}
            case _:
                return said


class _Form(_Read):
    type: Literal["object"] = "object"
    properties: dict[str, _Property] = {}
    required: list[str] | None = None


def _fields(schema: Mapping[str, Any]) -> tuple[AnyField, ...]:
    try:
        size = len(json.dumps(schema))
        form = _Form.model_validate(schema) if size <= LARGEST_FORM else None
    except (ValidationError, ValueError, RecursionError):
        raise NotPut("its form is not a flat list of texts, numbers, choices, and things that are so or not") from None
    if form is None:
        raise NotPut(f"its form is larger than the {LARGEST_FORM:,} bytes that a person is shown")
    if len(form.properties) > MOST_FIELDS:
        raise NotPut(f"its form has {len(form.properties)} fields; a person is shown {MOST_FIELDS} at most")
    required = form.required or ()
    return tuple(_field(name, one, required=name in required) for name, one in form.properties.items())


class _Own(TypedDict):
    name: str
    title: str
    description: str
    required: bool


def _field(name: str, said: _Property, *, required: bool) -> AnyField:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise NotPut("a field of its form has a name that cannot be shown")
    title, about = within(said.title, LONGEST_TITLE), within(said.description, LONGEST_TITLE)
    own = _Own(name=name, title=title, description=about, required=required)
    match said.type:
        case "string" if said.enum is not None or said.each is not None:
            options = _options(said.enum, said.names, said.each)
            return ChoiceField(**own, options=options, default=said.default if _among(said.default, options) else None)
        case "string":
            return _text(own, said)
        case "number" | "integer":
            whole = said.type == "integer"
            return NumberField(**own, whole=whole, least=said.minimum, most=said.maximum, default=_number(said.default, whole=whole))
        case "boolean":
            return BooleanField(**own, default=said.default if isinstance(said.default, bool) else None)
        case "array":
            items = said.items or _Items()
            options = _options(items.enum, (), items.each)
            chosen = cast(list[object], said.default) if isinstance(said.default, list) else None  # pyright: ignore[reportUnknownMemberType] - JSON
            defaults = None if chosen is None else tuple(option.value for option in options if option.value in chosen)
            return ChoicesField(**own, options=options, least=said.fewest, most=said.most, default=defaults)


def _text(own: _Own, said: _Property) -> TextField:
    default = within(said.default, LONGEST_MESSAGE) if isinstance(said.default, str) else None
    wanted = None if said.format is None else _FORMATS.get(said.format)
    return TextField(**own, format=wanted, least=said.shortest, most=said.longest, default=default)


def _number(value: object, *, whole: bool) -> int | float | None:
    """What JSON readers take beyond numbers, and those too large to be written down again, are no defaults."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        return None
    return value if not whole or value == int(value) else None


def _among(value: object, options: Sequence[Option]) -> bool:
    return any(option.value == value for option in options)


def _options(values: list[str] | None, names: Sequence[str], each: list[_Titled] | None) -> tuple[Option, ...]:
    """Plain values, values with names in a list beside them, or values each with a title."""
    beside = dict(zip(values or (), names, strict=False))
    pairs = [(value, beside.get(value, "")) for value in values or ()] if each is None else [(one.const, one.title) for one in each]
    if not pairs or len(pairs) > MOST_OPTIONS or any(len(value) > LONGEST_VALUE for value, _ in pairs):
        raise NotPut(f"a choice of its form has no values that can be shown, or more than {MOST_OPTIONS}")
    return tuple(Option(value=value, title=within(title, LONGEST_TITLE)) for value, title in pairs)
