"""One agent's file from text to definition, or to every fault in it. Pure: no file is opened here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType

from mcp_server.agents.definition import AgentDefinition, Where
from mcp_server.agents.schema import ELSEWHERE, FrontMatter
from mcp_server.errors import Fault
from mcp_server.policy.matching import anchor
from mcp_server.policy.values import Rule
from mcp_server.settings.checking import check
from mcp_server.settings.rules import Writer, read_rules
from mcp_server.settings.written import NAME
from mcp_server.strict_yaml import Document, Plain, read_yaml

_FENCE = re.compile(r"---[ \t]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """A file that holds no fault."""

    definition: AgentDefinition
    disable: bool


def read_agent(text: str, file: str, *, where: Where, workspace: str, home: str | None = None) -> AgentFile | tuple[Fault, ...]:
    """Read an agent's file. What lies in most of them, the built-in roles, is the same at each look, and is read once.

    Args:
        text: The file's content.
        file: Its path: its name without `.md` is the agent's; also for faults and the origin of rules.
        where: Who put it there.
        workspace: Absolute; patterns of paths without a root are taken from it.
        home: Absolute; what `~/` in patterns means.
    """
    read = _read(text, file, where)
    if not isinstance(read, AgentFile):
        return read
    anchored = tuple(anchor(rule, workspace, home) for rule in read.definition.permission)
    return replace(read, definition=replace(read.definition, permission=anchored))


@lru_cache(maxsize=256)
def _read(text: str, file: str, where: Where) -> AgentFile | tuple[Fault, ...]:
    """Its rules are as they are written, not anchored yet."""
    parts = _split(text)
    if parts is None:
        remedy = "begin with a line ---, then `description: …` and more keys, then a line ---, then the prompt"
        return (Fault(file=file, line=1, problem="there is no front matter", remedy=remedy),)
    front, body = parts
    document = read_yaml(front, file, first_line=2)
    if document.faults and document.value is None:
        return document.faults
    values, faults = check(document, FrontMatter, elsewhere=ELSEWHERE)
    written = document.value if isinstance(document.value, dict) else {}
    rules, wrong = read_rules(document, ("permission",), written.get("permission"), Writer.AGENT)
    every = {*document.faults, *faults, *wrong, *_name_faults(document, written, file), *_more(document, written, body, where)}
    if every or values is None:
        return tuple(sorted(every, key=lambda fault: (fault.line or 0, fault.problem)))
    return AgentFile(definition=_definition(values, rules, body, file, where), disable=values.disable)


def _split(text: str) -> tuple[str, str] | None:
    """Front matter and body; None where there is no front matter."""
    lines = text.splitlines(keepends=True)
    if not lines or not _FENCE.fullmatch(lines[0].rstrip("\r\n")):
        return None
    for index, line in enumerate(lines[1:], start=1):
        if _FENCE.fullmatch(line.rstrip("\r\n")):
            return "".join(lines[1:index]), "".join(lines[index + 1 :]).strip()
    return None


def _name_faults(document: Document, written: Mapping[str, Plain], file: str) -> list[Fault]:
    stem, said = PurePath(file).stem, written.get("name")
    if not NAME.fullmatch(stem):
        remedy = "rename the file: lower-case letters, digits and -, at most 40, a letter or digit first"
        return [Fault(file=file, line=None, problem=f"`{stem}` is not an agent's name", remedy=remedy)]
    if isinstance(said, str) and said != stem:
        return [document.fault(("name",), f"`name` says `{said}`, the file `{stem}`", "make them the same, or leave `name` out")]
    return []


def _more(document: Document, written: Mapping[str, Plain], body: str, where: Where) -> list[Fault]:
    """What no single key can tell."""
    faults: list[Fault] = []
    if written.get("disable") is True:
        return faults
    if not str(written.get("description", "")).strip():
        faults.append(document.fault(("description",), "`description` is missing", "say when to send this agent"))
    if not body:
        faults.append(Fault(file=document.file, line=None, problem="there is no prompt", remedy="write it below the front matter"))
    if where == "workspace" and "permission_mode" in written:
        remedy = "remove it, or define the agent in your own agents folder"
        faults.append(document.fault(("permission_mode",), "`permission_mode` is never read from a workspace", remedy))
    return faults


def _definition(values: FrontMatter, rules: tuple[Rule, ...], body: str, file: str, where: Where) -> AgentDefinition:
    return AgentDefinition(
        name=PurePath(file).stem,
        description=values.description,
        mode=values.mode,
        permission=rules,
        tools=None if values.tools is None else tuple(values.tools),
        model=values.model,
        fallback=values.fallback,
        temperature=values.temperature,
        top_p=values.top_p,
        steps=values.steps,
        timeout=values.timeout,
        hidden=values.hidden,
        color=values.color,
        options=MappingProxyType(dict(values.options)),
        permission_mode=values.permission_mode,
        prompts=values.prompts,
        background=values.background,
        on_parent_end=values.on_parent_end,
        prompt=body,
        source=file,
        where=where,
    )
