"""A document against a pydantic model: the value, or every fault with its line and a remedy.

No value of the file is repeated in a fault: it may be a secret that stands in the wrong place.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from mcp_server.errors import Fault
from mcp_server.settings.vocabulary import Complaint, nearest
from mcp_server.strict_yaml import Document, Place, Plain

Model = TypeVar("Model", bound=BaseModel)

OWN_READERS = frozenset({"permission", "guard", "options"})
"""Keys whose content other readers check; an empty value deep inside is theirs to judge."""


BY_NAME = frozenset({"agents", "teams", "people", "providers", "workspaces", "claims", "mcpServers", "env", "headers"})
"""Maps whose keys are names that somebody chose: what is called like a key of another reader is none there."""


def check(document: Document, model: type[Model], *, elsewhere: Mapping[str, Complaint]) -> tuple[Model | None, tuple[Fault, ...]]:
    """Validate a document's value.

    Args:
        document: With faults of its own or without; they are not repeated here.
        model: The model; an absent document is an empty map.
        elsewhere: Unknown keys that people bring from other tools, and what to say of each.
    """
    value: Plain = {} if document.value is None else document.value
    if not isinstance(value, dict):
        return None, (document.fault((), "the file is not a map of keys", "write `key: value` lines"),)
    faults: list[Fault] = []
    full = _without_empty(document, (), value, faults)
    checked: Model | None = None
    try:
        checked = model.model_validate(full)
    except ValidationError as error:
        schema = model.model_json_schema()
        faults.extend(_fault(document, cast("Mapping[str, Any]", detail), schema, elsewhere) for detail in error.errors(include_url=False))
    return checked, tuple(dict.fromkeys(faults))


def _without_empty(document: Document, place: Place, value: dict[str, Plain], faults: list[Fault]) -> dict[str, Plain]:
    """The map without keys that stand there and say nothing, each a fault: `tools:` must not come to mean all tools."""
    full: dict[str, Plain] = {}
    for name, item in value.items():
        here = (*place, name)
        if item is None:
            faults.append(document.fault(here, f"`{name}` has no value", "write one ([] for an empty list), or remove the key"))
        else:
            others = name in OWN_READERS and (not place or place[-1] not in BY_NAME)
            full[name] = item if others else _filled(document, here, item, faults)
    return full


def _filled(document: Document, place: Place, value: Plain, faults: list[Fault]) -> Plain:
    """The same of whatever stands there, maps in lists too."""
    if isinstance(value, dict):
        return _without_empty(document, place, value, faults)
    if isinstance(value, list):
        return [_filled(document, (*place, index), item, faults) for index, item in enumerate(value)]
    return value


def _fault(document: Document, detail: Mapping[str, Any], schema: dict[str, Any], elsewhere: Mapping[str, Complaint]) -> Fault:
    place = _place(document, detail["loc"])
    name = ".".join(str(part) for part in place)
    match detail["type"]:
        case "extra_forbidden":
            return document.fault(place, *_unknown(place, schema, elsewhere))
        case "missing":
            return document.fault(place, f"`{name}` is missing", "add it")
        case "value_error":
            problem, _, remedy = str(detail["ctx"]["error"]).partition("; ")
            return document.fault(place, f"{problem} (in `{name}`)" if problem.startswith("`") else f"`{name}` {problem}", remedy)
        case _:
            return document.fault(place, f"`{name}` has a value that does not fit", _fitting(detail))


def _place(document: Document, location: Iterable[str | int]) -> Place:
    """The part of pydantic's location that is written in the document: it also names branches of unions and `[key]`."""
    place: Place = ()
    for part in location:
        if (*place, part) in document.lines or not place:
            place = (*place, part)
    return place


def _unknown(place: Place, schema: dict[str, Any], elsewhere: Mapping[str, Complaint]) -> Complaint:
    word = str(place[-1])
    if len(place) == 1 and word in elsewhere:
        return elsewhere[word]
    known = _keys_at(schema, place[:-1])
    meant = nearest(word, known)
    return f"unknown key `{word}`", f"did you mean `{meant}`?" if meant else f"use one of {', '.join(known)}"


def _keys_at(schema: dict[str, Any], place: Place) -> list[str]:
    """The keys that a JSON Schema knows at a place."""
    node = schema
    for part in place:
        node = _resolved(node.get("properties", {}).get(part) or node.get("additionalProperties") or {}, schema)
    return list(node.get("properties", {}))


def _resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference points to, or that of the map where a value may be left out."""
    node = next((option for option in node.get("anyOf", ()) if "$ref" in option or "properties" in option), node)
    reference = node.get("$ref", "")
    return schema["$defs"][reference.rsplit("/", 1)[-1]] if reference else node


_FORMS = {
    "bool_type": "write true or false",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "string_type": "write text, in quotes if it could be read as a number",
    "list_type": "write a list: [one, two]",
    "dict_type": "write a map",
    "model_type": "write a map",
}


def _fitting(detail: Mapping[str, Any]) -> str:
    """What would fit, from pydantic's own words where no better ones are at hand."""
    known = _FORMS.get(detail["type"])
    if known is not None:
        return known
    message: str = detail["msg"]
    return message.replace("Input should be", "it should be")
