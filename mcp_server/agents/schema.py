"""What an agent's front matter may hold, and what to say of keys that other tools use for the same thing."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mcp_server.settings.blocks import Block, key
from mcp_server.settings.schema import ModelName, Seconds
from mcp_server.settings.vocabulary import Complaint, tool_meant
from mcp_server.settings.written import AgentName, ModeWord, ToolName, Written

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_MODES = ("primary", "subagent", "all")


def _said(problem: str, remedy: str) -> ValueError:
    """A fault in words of our own; the checker takes them apart again."""
    return ValueError(f"{problem}; {remedy}")


def _colour(text: str) -> str:
    if text not in _COLOURS and not re.fullmatch(r"#[0-9A-Fa-f]{6}", text):
        raise _said("is not a colour", f"write #rrggbb or one of {', '.join(_COLOURS)}")
    return text


def _own_mode(value: object) -> object:
    if isinstance(value, str) and value in {"dontAsk", "default", "acceptEdits", "bypassPermissions"}:
        raise _said(
            "says how an agent is used, not what answers silence",
            f"write `permission_mode: {value}`, and for `mode` one of {', '.join(_MODES)}",
        )
    return value


def _tool_list(value: object) -> object:
    if isinstance(value, str):
        names = [tool_meant(name.strip()) or name.strip() for name in value.split(",")]
        raise _said("is a text with commas", f"write a list of Remit's names: [{', '.join(names)}]")
    if isinstance(value, dict):
        raise _said("is a map of switches", "list the tools to show: [read, grep]; to forbid something write `permission: {edit: deny}`")
    return value


def _no_address(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if re.search(r"key|token|secret|password|url|header|auth|proxy", name, re.IGNORECASE) and name not in _HARMLESS:
            raise _said(f"holds `{name}`", "keys and addresses belong to `providers` in your settings")
    return options


_HARMLESS = frozenset({"max_tokens", "max_output_tokens", "max_completion_tokens", "budget_tokens"})


def _model_word(value: object) -> object:
    if value == "inherit":
        raise _said("says inherit", "leave `model` out: the settings' model is used")
    return value


class FrontMatter(Block):
    """The YAML at the head of an agent's file."""

    name: AgentName | None = key(None, "Its name; the file's own, without .md, and that when absent.", example="reviewer")
    description: Annotated[str, Field(max_length=1000)] = key(
        "", "When to send it: models choose by this. Needed unless it is disabled.", example="Reads a change and lists its faults."
    )
    mode: Annotated[Literal["primary", "subagent", "all"], BeforeValidator(_own_mode)] = key(
        "all", "`primary`: clients run as it; `subagent`: `task` sends it; `all`: both.", example="subagent"
    )
    permission: Written = key(
        None, "Its rules: a map or a list. Absent or `{}`: none.", example={"*": "deny", "read": "allow", "bash": {"git log *": "ask"}}
    )
    tools: Annotated[list[ToolName], BeforeValidator(_tool_list)] | None = key(
        None, "What its model is shown. Absent: what the rules do not wholly deny; []: none.", example=["read", "grep"]
    )
    model: Annotated[ModelName, BeforeValidator(_model_word)] | None = key(
        None, "The model it uses; absent: the settings'.", example="anthropic:claude-sonnet-5"
    )
    fallback: Annotated[ModelName, BeforeValidator(_model_word)] | None = key(
        None, "The model that answers where that one fails for good; absent: the settings'.", example="openai:gpt-5-mini"
    )
    temperature: Annotated[float, Field(ge=0, le=2)] | None = key(None, "Sampling temperature.", example=0.2)
    top_p: Annotated[float, Field(gt=0, le=1)] | None = key(None, "Nucleus sampling.", example=0.9)
    steps: Annotated[int, Field(ge=1, le=1000)] | None = key(None, "Model turns of one run; absent: the settings'.", example=30)
    timeout: Seconds | None = key(None, "Seconds of one run; absent: the settings'.", example=600)
    hidden: bool = key(False, "Not offered to models; for the server's own small jobs.", example=True)
    color: Annotated[str, AfterValidator(_colour)] | None = key(None, "For clients that show one.", example="#4477aa")
    options: Annotated[dict[str, Any], AfterValidator(_no_address)] = key(
        {}, "Further settings for the model's provider, as it names them; no keys, no addresses.", example={"reasoning_effort": "low"}
    )
    permission_mode: ModeWord | None = key(
        None, "The mode it asks for; the stricter of this and its caller's holds. Not in a workspace's agents.", example="dontAsk"
    )
    prompts: Literal["bubble", "deny"] = key("bubble", "`bubble`: its asks go up to the person; `deny`: they are denied.", example="deny")
    background: bool = key(False, "`task` runs it in the background unless told otherwise.", example=True)
    on_parent_end: Literal["cancel", "keep"] = key(
        "cancel",
        "When its caller's run has ended and its own has not: end it, or let it go on. Cancelling a caller ends it always.",
        example="keep",
    )
    disable: bool = key(False, "Leave it out. A user's file so removes the package's agent of that name.", example=True)


def _instead(key_name: str, remedy: str) -> tuple[str, Complaint]:
    return key_name, (f"unknown key `{key_name}`", remedy)


_DENY = "write `permission: {edit: deny, bash: deny}`"
_ALLOW = "write `permission: {bash: {'git *': allow}}`; what the model is shown is `tools: [bash]`"

ELSEWHERE: Mapping[str, Complaint] = dict(
    [
        _instead("disallowedTools", _DENY),
        _instead("disallowed-tools", _DENY),
        _instead("disallowed_tools", _DENY),
        _instead("allowedTools", _ALLOW),
        _instead("allowed-tools", _ALLOW),
        _instead("allowed_tools", _ALLOW),
        _instead("permissionMode", "write `permission_mode`"),
        _instead("permissions", "write `permission: {edit: ask, bash: {'git *': allow}}`"),
        _instead("maxTurns", "write `steps`"),
        _instead("max_turns", "write `steps`"),
        _instead("maxSteps", "write `steps`"),
        _instead("max_steps", "write `steps`"),
        _instead("topP", "write `top_p`"),
        _instead("fallbackModel", "write `fallback`"),
        _instead("fallback_model", "write `fallback`"),
        _instead("disabled", "write `disable`"),
        _instead("enabled", "write `disable: true`, or leave it out"),
        _instead("prompt", "write the prompt below the front matter"),
        _instead("system", "write the prompt below the front matter"),
        _instead("instructions", "write the prompt below the front matter"),
        _instead("reasoningEffort", "write `options: {reasoning_effort: …}`"),
        _instead("effort", "write `options: {reasoning_effort: …}`"),
        _instead("mcpServers", "remove it: upstream servers are set in your settings"),
        _instead("mcp-servers", "remove it: upstream servers are set in your settings"),
        _instead("hooks", "remove it: Remit runs no hooks"),
        _instead("skills", "remove it, or say in the prompt which files to read"),
        _instead("memory", "remove it, or say in the prompt which files to read"),
        _instead("isolation", "remove it: a child works in its caller's workspace"),
        _instead("argument-hint", "remove it: `task` passes a prompt"),
        _instead("run_in_background", "write `background`"),
        _instead("colour", "write `color`"),
    ]
)
"""Keys of agent files elsewhere."""
