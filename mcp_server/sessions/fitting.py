"""What a person gave for a server's form, held against what was asked. Nothing else is ever sent to the server.

Values come from hosts' forms as JSON has them, and from pages and terminals as text; both end here.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, assert_never, cast
from urllib.parse import urlsplit

from mcp_server.elicited import (
    CANCELLED,
    AnyField,
    Asked,
    BooleanField,
    ChoiceField,
    ChoicesField,
    FormAsked,
    Format,
    LinkAsked,
    NumberField,
    Replied,
    TextField,
    Value,
)

MOST_TYPED = 20_000
"""Characters of one text, where the form names no fewer: more than anybody types into a line."""

LARGEST = 1e300
"""No number beyond it can be told apart in every language that reads JSON."""

_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")


class Misfit(ValueError):
    """What was given is not what was asked. The text says which field and why, and repeats no value."""


# ---- whole answers --------------------------------------------------------------------------------


def kept(reply: Replied) -> str:
    """As an answer keeps it until the server has it."""
    return json.dumps({"action": reply.action, **({} if reply.content is None else {"content": dict(reply.content)})}, ensure_ascii=False)


def reply_in(asked: Asked, words: str) -> Replied:
    """The reply that an answer keeps.

    Raises:
        Misfit: It is none, or does not fit what was asked.
    """
    try:
        held: Any = json.loads(words)
    except ValueError:
        raise Misfit("it is no answer to a form") from None
    match held:
        case {"action": "accept", "content": {}} if isinstance(asked, FormAsked):
            return Replied(action="accept", content=fitted(asked, cast(dict[str, object], held["content"])))
        case {"action": "accept"} if isinstance(asked, LinkAsked):
            return Replied(action="accept")
        case {"action": "decline"}:
            return Replied(action="decline")
        case {"action": "cancel"}:
            return CANCELLED
        case _:
            raise Misfit("it is no answer to a form")


def fitted(form: FormAsked, given: Mapping[str, object]) -> dict[str, Value]:
    """The values as they are sent: those of the form's fields that have one, each as its field wants it.

    Raises:
        Misfit: A value is missing, or is not what its field takes, or there is one that was not asked for.
    """
    if unknown := [name for name in given if name not in {field.name for field in form.fields}]:
        raise Misfit(f"{len(unknown)} of the values were not asked for")
    values = dict[str, Value]()
    for field in form.fields:
        value = given.get(field.name)
        if value is not None:
            values[field.name] = _value(field, value)
        elif field.required:
            raise Misfit(f"{field.name}: a value is needed")
    return values


def _value(field: AnyField, given: object) -> Value:
    match field:
        case TextField():
            return _text(field, given)
        case NumberField():
            return _number(field, given)
        case BooleanField():
            if not isinstance(given, bool):
                raise Misfit(f"{field.name}: yes or no")
            return given
        case ChoiceField():
            if not isinstance(given, str) or given not in {option.value for option in field.options}:
                raise Misfit(f"{field.name}: one of those on offer")
            return given
        case ChoicesField():
            return _choices(field, given)
        case _:
            assert_never(field)


def _text(field: TextField, given: object) -> str:
    most = MOST_TYPED if field.most is None else min(field.most, MOST_TYPED)
    if not isinstance(given, str):
        raise Misfit(f"{field.name}: a text")
    if not field.least <= len(given) <= most:
        raise Misfit(f"{field.name}: {field.least} to {most} characters")
    if field.format is not None and not _is(field.format, given):
        raise Misfit(f"{field.name}: {FORMATS[field.format]}")
    return given


FORMATS: Mapping[Format, str] = {
    "email": "an e-mail address",
    "uri": "an address such as https://example.org/",
    "date": "a date such as 2026-01-31",
    "date-time": "a date and time such as 2026-01-31T12:00:00Z",
}
"""What a text of each must be."""


def _is(wanted: Format, text: str) -> bool:
    try:
        match wanted:
            case "email":
                return _ADDRESS.fullmatch(text) is not None
            case "uri":
                return bool(urlsplit(text).scheme) and not any(character.isspace() for character in text)
            case "date":
                return date.fromisoformat(text).isoformat() == text
            case "date-time":
                return "T" in text.upper() and datetime.fromisoformat(text).tzinfo is not None
            case _:
                assert_never(wanted)
    except ValueError:
        return False


def _number(field: NumberField, given: object) -> int | float:
    what = "a whole number" if field.whole else "a number"
    if isinstance(given, bool) or not isinstance(given, int | float) or not -LARGEST <= given <= LARGEST:
        raise Misfit(f"{field.name}: {what}")
    if field.whole and given != int(given):
        raise Misfit(f"{field.name}: {what}")
    if (field.least is not None and given < field.least) or (field.most is not None and given > field.most):
        raise Misfit(f"{field.name}: {what}{bounds(field)}")
    return int(given) if field.whole else given


def bounds(field: NumberField) -> str:
    """` from 1 to 9`, as far as there are any."""
    least = "" if field.least is None else f" from {field.least:g}"
    return least + ("" if field.most is None else f" to {field.most:g}")


def _choices(field: ChoicesField, given: object) -> list[str]:
    offered = {option.value for option in field.options}
    if not isinstance(given, list):
        raise Misfit(f"{field.name}: some of those on offer")
    chosen = [value for value in cast(list[object], given) if isinstance(value, str) and value in offered]
    if len(chosen) != len(cast(list[object], given)) or len(set(chosen)) != len(chosen):
        raise Misfit(f"{field.name}: some of those on offer, each once")
    most = len(offered) if field.most is None else field.most
    if not field.least <= len(chosen) <= most:
        raise Misfit(f"{field.name}: {field.least} to {most} of those on offer")
    return chosen


# ---- what was typed -------------------------------------------------------------------------------


def read(field: AnyField, typed: Sequence[str]) -> object | None:
    """What texts stand for in a field: one text, or of several choices each. None: nothing was given. `fitted` says whether it fits.

    Where the field is chosen from, a text is a number from 1 in the order of the options, or else the value itself.
    """
    texts = [text for text in typed if text.strip()]
    if not texts:
        return None
    match field:
        case TextField():
            return texts[0]
        case NumberField():
            return _as_number(texts[0])
        case BooleanField():
            return {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}.get(texts[0].strip().lower(), texts[0])
        case ChoiceField(options=options):
            return _chosen(texts[0], [option.value for option in options])
        case ChoicesField(options=options):
            return [_chosen(text, [option.value for option in options]) for text in texts]
        case _:
            assert_never(field)


def _as_number(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _chosen(text: str, values: Sequence[str]) -> str:
    given = text.strip()
    if given.isascii() and given.isdigit() and len(given) < 6 and 1 <= int(given) <= len(values):
        return values[int(given) - 1]
    return given
