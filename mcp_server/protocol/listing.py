"""From a tool's own presentation to what `tools/list` says. The same for every connection, made once."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel

from mcp_server.tools.base import ToolSpec
from mcp_server.tools.schemas import Mode, json_schema

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""Claude hides every tool of a server for one bad name; Cursor counts the server's name in, up to 60."""
_DESCRIPTION_BYTES = 2048
"""Claude Code cuts what is longer."""


def listed(specs: Iterable[ToolSpec]) -> list[Tool]:
    """The tools as clients see them.

    Raises:
        ValueError: A name or description that a client would choke on. A fault of ours, found at start.
    """
    tools = [_tool(spec) for spec in specs]
    names = [tool.name for tool in tools]
    if len(names) != len(set(names)):
        raise ValueError(f"two tools share a name: {', '.join(names)}")
    return tools


def _tool(spec: ToolSpec) -> Tool:
    if not _NAME.fullmatch(spec.name):
        raise ValueError(f"{spec.name!r} is no tool name: 1 to 40 letters, digits, - or _")
    if len(spec.description.encode()) >= _DESCRIPTION_BYTES:
        raise ValueError(f"the description of {spec.name} is {len(spec.description.encode())} bytes long; clients cut at 2 KB")
    hints = spec.hints
    return Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=schema_of(spec.arguments) if spec.foreign is None else dict(spec.foreign),
        output_schema=_promised(spec),
        annotations=ToolAnnotations(
            title=spec.title,
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive and not hints.read_only,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world,
        ),
    )


def _promised(spec: ToolSpec) -> dict[str, Any] | None:
    if spec.promises is not None:
        return dict(spec.promises)
    return None if spec.output is None else schema_of(spec.output, "serialization")


def schema_of(model: type[BaseModel], mode: Mode = "validation") -> dict[str, Any]:
    """JSON Schema of an object, without references where none is recursive (some clients follow none) and without the
    titles that pydantic derives from names.
    """
    return json.loads(_derived(model, mode))


@lru_cache(maxsize=512)
def _derived(model: type[BaseModel], mode: Mode) -> str:
    """As text, so that everybody has their own to change. A gateway makes a server for each workspace, and all of them list the same."""
    schema = json_schema(model, mode)
    defs = cast(dict[str, dict[str, Any]], schema.pop("$defs", {}))
    whole = cast(dict[str, Any], _plain(schema, defs, ()))
    if _refers(whole):
        whole["$defs"] = {name: _plain(body, {}, ()) for name, body in defs.items()}
    return json.dumps(whole)


def _plain(node: object, defs: dict[str, dict[str, Any]], above: tuple[str, ...]) -> object:
    if isinstance(node, list):
        return [_plain(item, defs, above) for item in cast(list[object], node)]
    if not isinstance(node, dict):
        return node
    fields = cast(dict[str, object], node)
    name = str(fields.get("$ref", "")).removeprefix("#/$defs/")
    if name in defs and name not in above:
        rest = {key: value for key, value in fields.items() if key != "$ref"}
        return _plain({**defs[name], **rest}, defs, (*above, name))
    return {key: _child(key, value, defs, above) for key, value in fields.items() if not (key == "title" and isinstance(value, str))}


def _child(key: str, value: object, defs: dict[str, dict[str, Any]], above: tuple[str, ...]) -> object:
    if key == "properties" and isinstance(value, dict):
        # A property may itself be called `title`.
        return {name: _plain(body, defs, above) for name, body in cast(dict[str, object], value).items()}
    return _plain(value, defs, above)


def _refers(node: object) -> bool:
    if isinstance(node, list):
        return any(_refers(item) for item in cast(list[object], node))
    if not isinstance(node, dict):
        return False
    fields = cast(dict[str, object], node)
    return "$ref" in fields or any(_refers(value) for value in fields.values())
