"""What a call would ask of the rules, told by the real tools: for `explain`, without running anything."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from mcp_server.cli.enclosing import Enclose
from mcp_server.cli.members import Cast
from mcp_server.errors import RemitError
from mcp_server.policy.chain import Member
from mcp_server.policy.values import PathValue, PlainValue, Request, SpawnValue
from mcp_server.policy.verdicts import SessionId
from mcp_server.policy.widening import widening
from mcp_server.sessions.toolset.shelves import read_value
from mcp_server.store.protocol import Store
from mcp_server.tools.base import SEPARATOR, Step, Tool, ToolContext
from mcp_server.tools.builtin import builtin_tools
from mcp_server.tools.paths import locate, outside

ARGUMENT: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "read": ("filePath", {}),
    "list": ("path", {}),
    "glob": ("path", {"pattern": "*"}),
    "grep": ("path", {"pattern": "x"}),
    "edit": ("filePath", {"oldString": "x", "newString": "y"}),
    "write": ("filePath", {"content": ""}),
    "apply_patch": ("patchText", {}),
    "bash": ("command", {}),
    "webfetch": ("url", {}),
}
"""The argument that the value is, and what else the tool insists on."""

WITHOUT_VALUE = ("todowrite", "question")
OWNED = ("todoread", "task_status", "task_cancel", "session_info", "bash_output", "bash_kill")


class NotACall(RemitError):
    """What was typed is no call of a tool."""


def requests_for(
    tool: str, value: str, stage: Cast, chain: tuple[Member, ...], store: Store, enclose: Enclose | None = None
) -> tuple[Request, ...]:
    """What the call would ask.

    Args:
        tool: A tool's or a permission's name.
        value: Its main argument, or all of them as a JSON object.
        stage: The agents and rules there.
        chain: The caller's.
        store: Lent to the tools; nothing is read from it or written to it.
        enclose: What a line of shell would run in. None: nobody can say, and lines whose effects are not known are refused.

    Raises:
        NotACall: The arguments are not the tool's, or it needs no permission.
        ToolFailure: As the tool itself would raise it.
    """
    workspace = Path(stage.settings.commons.workspace)
    if tool in OWNED:
        raise NotACall(f"{tool} needs no permission: it reaches only what is the caller's own")
    if tool in ARGUMENT:
        found = next((one for one in builtin_tools() if one.spec.name == tool), None)
        if found is None:
            raise NotACall(f"{tool} is not offered on this machine")
        return _asked_by(found, value, _context(workspace, chain, store, enclose))
    if tool == "task":
        child = stage.known(value, len(chain))
        return (Request(permission="task", values=(SpawnValue(text=value, widening=widening(chain, child, stage.settings.commons)),)),)
    if tool == "external_directory":
        return (outside(locate(value, workspace)),)
    if (read := read_value(tool, value)) is not None:
        return (Request(permission=tool, values=(read,)),)
    if SEPARATOR in tool:
        arguments = _object(value) if value.startswith("{") else {}
        return (Request(permission=tool, values=(PlainValue(text="*"),), arguments=arguments),)
    return (Request(permission=tool, values=(PlainValue(text="*" if tool in WITHOUT_VALUE else value),)),)


def _asked_by(tool: Tool, value: str, context: ToolContext) -> tuple[Request, ...]:
    main, filler = ARGUMENT[tool.spec.name]
    written = _object(value) if value.startswith("{") else {**filler, main: value}
    try:
        arguments = tool.spec.arguments.model_validate(written)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False, include_input=False))
        raise NotACall(f"these are no arguments of {tool.spec.name}: {told}") from error
    return tool.requests(arguments, context)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise NotACall(f"the arguments are no JSON object: {error}") from error
    return cast("dict[str, Any]", value)


def _context(workspace: Path, chain: tuple[Member, ...], store: Store, enclose: Enclose | None) -> ToolContext:
    return ToolContext(
        session_id=SessionId("explain"),
        session_path=tuple(member.agent for member in chain),
        workspace=workspace,
        outputs=workspace,
        store=store,
        readable=_all,
        progress=_silent,
        environment={"HOME": os.path.expanduser("~")},
        enclose=enclose,
    )


def _all(values: Sequence[PathValue]) -> Sequence[bool]:
    return [True] * len(values)


async def _silent(_step: Step) -> None:
    """Nobody waits."""
