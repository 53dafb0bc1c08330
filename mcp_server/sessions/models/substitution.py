r"""`{{…}}` in the texts and arguments of a scripted turn: what the run has seen so far, put in its place.

    {{task}}                      the newest task of the session
    {{results[0].task_id}}        of the last turn's first call: a field of its structured content
    {{results[0].text}}           and the text that the model was given
    {{turns[0].results[1].text}}  the same of an earlier turn

A value that is one substitution and nothing else keeps its type. `\{{` stands for `{{`. Anything unknown is an error.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mcp_server.records import CallEnded, ModelTurn, StoredEntry, TaskGiven, TextPart

_PLACE = re.compile(r"(\\\{\{)|\{\{([^{}]*)\}\}|\{\{")
_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d{1,6})\]")


class UnknownPlace(LookupError):
    """A substitution names something that is not there. The text says what, and what there is."""


def seen_so_far(entries: Sequence[StoredEntry]) -> Mapping[str, Any]:
    """What substitutions may name."""
    turns: list[dict[str, Any]] = []
    ended = {stored.entry.call_id: stored.entry for stored in entries if isinstance(stored.entry, CallEnded)}
    task = ""
    for stored in entries:
        match stored.entry:
            case TaskGiven(text=text):
                task = text
            case ModelTurn(calls=calls):
                turns.append({"results": [_result(ended.get(call.id)) for call in calls]})
            case _:
                pass
    return {"task": task, "turns": turns, "results": turns[-1]["results"] if turns else []}


def text_of(ended: CallEnded) -> str:
    """The text parts of a result, images left out."""
    return "\n".join(part.text for part in ended.parts if isinstance(part, TextPart))


def _result(ended: CallEnded | None) -> dict[str, Any]:
    if ended is None:
        return {"text": ""}
    return {**(ended.structured or {}), "text": text_of(ended)}


def substitute(value: Any, seen: Mapping[str, Any]) -> Any:
    """`value` with every substitution in its strings carried out, however deep.

    Raises:
        UnknownPlace: One names something that is not there.
    """
    match value:
        case str():
            return _in_string(value, seen)
        case dict():
            return {key: substitute(item, seen) for key, item in cast(dict[Any, Any], value).items()}
        case list():
            return [substitute(item, seen) for item in cast(list[Any], value)]
        case _:
            return value


def substitute_text(text: str, seen: Mapping[str, Any]) -> str:
    """The same for a text that stays a text."""
    return _as_text(_in_string(text, seen))


def _in_string(text: str, seen: Mapping[str, Any]) -> Any:
    whole = _PLACE.fullmatch(text)
    if whole is not None and whole[2] is not None:
        return _look_up(whole[2], seen)
    return _PLACE.sub(lambda found: "{{" if found[1] else _as_text(_look_up(found[2], seen)), text)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _look_up(path: str | None, seen: Mapping[str, Any]) -> Any:
    if path is None:
        raise UnknownPlace("`{{` is not closed; write `\\{{` for two braces that stand for themselves")
    path = path.strip()
    value: Any = seen
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise UnknownPlace(f"`{{{{{path}}}}}` cannot be read; write names and [numbers], such as `results[0].text`")
        value = _down(value, step[1] if step[1] is not None else int(step[2]), path)
        at = step.end()
    if value is seen:
        raise UnknownPlace("`{{}}` names nothing")
    return value


def _down(value: Any, step: str | int, path: str) -> Any:
    if isinstance(step, int):
        items = cast(list[Any], value) if isinstance(value, list) else []
        if step < len(items):
            return items[step]
        raise UnknownPlace(f"`{{{{{path}}}}}` is not known: there is no [{step}], the list holds {len(items)}")
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if step in fields:
        return fields[step]
    raise UnknownPlace(f"`{{{{{path}}}}}` is not known: there is no `{step}`, only {', '.join(sorted(fields)) or 'nothing'}")
