"""From a server's own word on a tool to the tool as it is offered here: its name, what is shown of it, and what tells it from another."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp_types import Tool

from mcp_server.policy.silence import KINDS
from mcp_server.protocol.upstream.cleaning import cleaned, in_line, within
from mcp_server.tools.base import SEPARATOR, Hints
from mcp_server.tools.foreign import ForeignTool

LONGEST_NAME = 40
"""Of an offered tool, the server's name in it. Clients put their own name for Remit before it, and some take 60 in all."""

MARK = 6
"""Hex digits of the digest that tells a shortened name from another: of a thousand such names two are alike once in thirty."""

LONGEST_DESCRIPTION = 2000
"""Bytes: some clients cut at 2 KB."""

LONGEST_TITLE = 100

WIDTH = 100
"""Characters of a line in a difference."""

LARGEST_SCHEMA = 64 * 1024
"""Bytes of JSON. A model has to read it with each turn; the largest in use are a few thousand."""

LARGEST_TOOL = 128 * 1024
"""Bytes of all that is said of one: its schemas and words."""

LARGEST_LIST = 1024 * 1024
"""Bytes of all that one server says of its tools. All of it is read, compared and kept, while everybody else waits."""

LONGEST_OWN_NAME = 500

DEEPEST = 40
"""Levels of a schema: more than any that a person wrote, fewer than what makes readers of it fall over."""

_FIT = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One tool as its server describes it: all that a pin is about."""

    tool: ForeignTool
    said: dict[str, Any]
    """What the server says of it, as the protocol has it."""
    as_task: bool = False
    """Up to 2025-11-25: its server wants, or takes, calls of it as tasks."""

    @property
    def text(self) -> str:
        """The same, for a difference."""
        return text_of(self.said)


def text_of(said: Mapping[str, Any]) -> str:
    """What a server says of a tool, for a pin and a difference."""
    # A description is one line of JSON however long it is, and a difference shows no more than the start of a line.
    lines = _canonical(said).splitlines()
    return "\n".join(line[at : at + WIDTH] for line in lines for at in range(0, len(line), WIDTH))


def offered_name(server: str, own: str) -> str:
    """The tool's name here. Always the same for the same tool; where its own does not fit, shortened, with a digest at its end."""
    room = LONGEST_NAME - len(server) - len(SEPARATOR)
    if _FIT.fullmatch(own) and len(own) <= room and own not in KINDS:
        return f"{server}{SEPARATOR}{own}"
    mark = hashlib.sha256(own.encode(errors="replace")).hexdigest()[:MARK]
    short = re.sub(r"[^A-Za-z0-9_-]", "_", own)[: room - MARK - 1]
    return f"{server}{SEPARATOR}{short}_{mark}"


def definitions(server: str, tools: Iterable[Tool]) -> tuple[dict[str, Definition], tuple[str, ...]]:
    """Those that can be offered, by their own names, and why the others cannot, a line each."""
    found: dict[str, Definition] = {}
    taken: set[str] = set()
    left: list[str] = []
    room = LARGEST_LIST
    for tool in tools:
        problem = _too_deep(tool)
        size = 0 if problem is not None else len(tool.model_dump_json())
        if problem is None:
            problem = _problem(tool) if size <= LARGEST_TOOL else f"what is said of it is larger than {LARGEST_TOOL:,} bytes"
        if problem is None and size > room:
            problem = f"the server says more than {LARGEST_LIST:,} bytes of its tools"
        room -= size if problem is None else 0
        name = offered_name(server, tool.name[:LONGEST_OWN_NAME])
        if problem is None and name in taken:
            problem = "another one has its name"
        if problem is not None:
            left.append(f"the tool {in_line(tool.name, 60)!r} is left out: {problem}")
            continue
        taken.add(name)
        found[tool.name] = definition(server, name, tool)
    return found, tuple(left)


def definition(server: str, name: str, tool: Tool) -> Definition:
    """The tool as it is offered, and as it is pinned."""
    said = _said(tool)
    hints = tool.annotations
    about = f"From the MCP server `{server}`, in its own words: {cleaned(tool.description or '').strip() or 'nothing'}"
    offered = ForeignTool(
        server=server,
        own_name=tool.name,
        name=name,
        title=in_line(f"{tool.title or (hints and hints.title) or tool.name} ({server})", LONGEST_TITLE),
        description=within(about, LONGEST_DESCRIPTION),
        schema={"type": "object", **tool.input_schema},
        output=_output(tool),
        hints=Hints(
            read_only=bool(hints and hints.read_only_hint),
            destructive=not (hints and hints.destructive_hint is False),
            idempotent=bool(hints and hints.idempotent_hint),
            open_world=not (hints and hints.open_world_hint is False),
        ),
        digest=hashlib.sha256(_canonical(said).encode(errors="replace")).hexdigest(),
        said=said,
    )
    as_task = tool.execution is not None and tool.execution.task_support in ("required", "optional")
    return Definition(tool=offered, said=said, as_task=as_task)


def _canonical(said: Mapping[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=False, sort_keys=True, indent=1)


def _said(tool: Tool) -> dict[str, Any]:
    """What a model or a person goes by."""
    whole = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {key: whole[key] for key in ("name", "title", "description", "inputSchema", "outputSchema", "annotations") if key in whole}


def _too_deep(tool: Tool) -> str | None:
    """Looked at before anything walks through it: what does so falls over."""
    if max(_depth(tool.input_schema), _depth(tool.output_schema), _depth(tool.meta)) > DEEPEST:
        return "its schema is nested too deep"
    return None


def _output(tool: Tool) -> dict[str, Any] | None:
    """What a client is told of structured content: up to 2025-11-25 it takes an object's schema alone, and all are told the same."""
    schema = tool.output_schema
    fits = schema is not None and schema.get("type") == "object" and len(json.dumps(schema)) <= LARGEST_SCHEMA
    return schema if fits else None


def _problem(tool: Tool) -> str | None:
    if not tool.name.strip():
        return "it has no name"
    if len(tool.name) > LONGEST_OWN_NAME:
        return f"its name is longer than {LONGEST_OWN_NAME} characters"
    if tool.input_schema.get("type", "object") != "object":
        return "its arguments are no object"
    if len(json.dumps(tool.input_schema)) > LARGEST_SCHEMA:
        return f"its schema is larger than {LARGEST_SCHEMA:,} bytes"
    return None


def _depth(node: object) -> int:
    """Levels of maps and lists, without recursion: a schema may be nested deeper than Python goes."""
    deepest, left = 0, [(node, 1)]
    while left and deepest <= DEEPEST:
        here, level = left.pop()
        deepest = max(deepest, level)
        if isinstance(here, Mapping):
            left += [(each, level + 1) for each in cast("Mapping[str, object]", here).values()]
        elif isinstance(here, list):
            left += [(each, level + 1) for each in cast("list[object]", here)]
    return deepest
