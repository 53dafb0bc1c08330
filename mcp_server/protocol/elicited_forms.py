"""From what another server asks to the form that a host shows, and back to what the server is told. Fields keep the server's own names."""

from collections.abc import Mapping
from typing import Any, assert_never

from mcp_types import ElicitRequest, ElicitRequestURLParams, ElicitResult

from mcp_server.elicited import (
    CANCELLED,
    AnyField,
    BooleanField,
    ChoiceField,
    ChoicesField,
    ElicitationSubject,
    FormAsked,
    LinkAsked,
    NumberField,
    Option,
    Replied,
    TextField,
)
from mcp_server.records import Prompt
from mcp_server.sessions.elicited_words import message_lines
from mcp_server.sessions.fitting import Misfit, fitted, read
from mcp_server.sessions.offered import shown

LINK = "link"
"""The field of the form that stands for a link where the host opens none."""

OPENED, NOT_OPENED = "opened", "not_opened"

TITLE_CHARS = 160


def message_of(prompt: Prompt, subject: ElicitationSubject) -> str:
    """What the person reads above the form, or beside the link."""
    return "\n".join(message_lines(prompt, subject))


def schema_of(subject: ElicitationSubject, *, titled: bool) -> dict[str, Any]:
    """The form's fields. `titled`: the host knows `oneOf` with titles, and lists."""
    match subject.asked:
        case LinkAsked():
            options = (Option(value=OPENED, title="I have opened it"), Option(value=NOT_OPENED, title="I will not open it"))
            field = ChoiceField(name=LINK, title="The link", required=True, options=options)
            return {"type": "object", "properties": {LINK: _property(field, titled=titled)}, "required": [LINK]}
        case FormAsked(fields=fields):
            properties = {field.name: _property(field, titled=titled) for field in fields}
            required = [field.name for field in fields if field.required]
            return {"type": "object", "properties": properties, **({"required": required} if required else {})}
        case _:
            assert_never(subject.asked)


def _property(field: AnyField, *, titled: bool) -> dict[str, Any]:
    said = {"title": field.title, "description": field.description}
    words = {key: shown(text) for key, text in said.items() if text}
    return {**_kind(field, titled=titled), **words}


def _kind(field: AnyField, *, titled: bool) -> dict[str, Any]:
    match field:
        case TextField():
            bounds = {"minLength": field.least or None, "maxLength": field.most, "format": field.format, "default": field.default}
            return {"type": "string", **_known(bounds)}
        case NumberField():
            bounds = {"minimum": field.least, "maximum": field.most, "default": field.default}
            numbers = {key: int(value) if field.whole and value == int(value) else value for key, value in _known(bounds).items()}
            return {"type": "integer" if field.whole else "number", **numbers}
        case BooleanField():
            return {"type": "boolean", **_known({"default": field.default})}
        case ChoiceField():
            return {"type": "string", **_options(field.options, "oneOf", titled=titled), **_known({"default": field.default})}
        case ChoicesField() if titled:
            bounds = {"minItems": field.least or None, "maxItems": field.most}
            default = {"default": list(field.default)} if field.default is not None else {}
            items: dict[str, Any] = _options(field.options, "anyOf", titled=True)
            return {"type": "array", "items": items if "anyOf" in items else {"type": "string", **items}, **_known(bounds), **default}
        case ChoicesField():
            labels = ", ".join(shown(option.value, 80) for option in field.options)
            return {"type": "string", "description": f"{shown(field.description)} Any of, with commas between: {labels}".strip()}
        case _:
            assert_never(field)


def _known(bounds: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in bounds.items() if value is not None}


def _options(options: tuple[Option, ...], key: str, *, titled: bool) -> dict[str, Any]:
    values = [option.value for option in options]
    titles = [shown(option.title or option.value, TITLE_CHARS) for option in options]
    if titles == values:
        return {"enum": values}
    if titled:
        return {key: [{"const": value, "title": title} for value, title in zip(values, titles, strict=True)]}
    return {"enum": values, "enumNames": titles}


# ---- replies ------------------------------------------------------------------------------------


def accepted(subject: ElicitationSubject, content: Mapping[str, object]) -> Replied:
    """What an accepted form says.

    Raises:
        Misfit: Nothing that this form can have said.
    """
    match subject.asked:
        case LinkAsked():
            match content.get(LINK):
                case "opened":
                    return Replied(action="accept")
                case "not_opened":
                    return Replied(action="decline")
                case _:
                    raise Misfit("whether the link was opened")
        case FormAsked() as form:
            return Replied(action="accept", content=fitted(form, {**content, **_lists(form, content)}))
        case _:
            assert_never(subject.asked)


def _lists(form: FormAsked, content: Mapping[str, object]) -> dict[str, object]:
    """Hosts whose forms have no lists send the values in one line."""
    lines = ((field, content.get(field.name)) for field in form.fields if isinstance(field, ChoicesField))
    return {field.name: read(field, line.split(",")) for field, line in lines if isinstance(line, str)}


# ---- links --------------------------------------------------------------------------------------


def link_of(prompt: Prompt) -> LinkAsked | None:
    """The link that a server wants opened. None: the prompt is about something else."""
    match prompt.subject:
        case ElicitationSubject(asked=LinkAsked() as link):
            return link
        case _:
            return None


def link_request(prompt: Prompt, subject: ElicitationSubject, link: LinkAsked) -> ElicitRequest:
    """For a host that opens links, from 2026-07-28 on."""
    return ElicitRequest(params=ElicitRequestURLParams(message=message_of(prompt, subject), url=link.url))


def opened(result: ElicitResult) -> Replied:
    """What came back from a host that opens links."""
    match result.action:
        case "accept":
            return Replied(action="accept")
        case "decline":
            return Replied(action="decline")
        case "cancel":
            return CANCELLED
