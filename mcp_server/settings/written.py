"""What several kinds of files hold in the same form: rules, names of agents and tools, modes."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from mcp_server.policy.values import Mode
from mcp_server.settings.vocabulary import ROLES, tool_complaint

ACTION_SCHEMA: dict[str, object] = {"enum": ["allow", "ask", "deny"]}
RULE_SCHEMA: dict[str, object] = {
    "type": "object",
    "required": ["permission", "action"],
    "additionalProperties": False,
    "properties": {
        "permission": {"type": "string"},
        "pattern": {"type": "string", "default": "*"},
        "action": ACTION_SCHEMA,
        "scope": {"enum": ["tree", "self"], "default": "tree"},
        "when": {"type": "object"},
        "reason": {"type": "string"},
        "opaque": {"const": "allow"},
        "answer_by": {"enum": list(ROLES)},
        "four_eyes": {"const": True},
        "reach": {"enum": ["once", "session", "tree"]},
    },
}
RULES_SCHEMA: dict[str, object] = {
    "anyOf": [
        {
            "type": "object",
            "additionalProperties": {"anyOf": [ACTION_SCHEMA, {"type": "object", "additionalProperties": ACTION_SCHEMA}]},
        },
        {"type": "array", "items": RULE_SCHEMA},
    ]
}

Written = Annotated[object, WithJsonSchema(RULES_SCHEMA)]
"""Rules as they stand in the file: a map or a list."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""A name that stands in tool arguments, prompts, addresses and file names: of an agent, a team, a workspace."""


def checked_name(text: str) -> str:
    """The name. Raises `ValueError` where it is none."""
    if not NAME.fullmatch(text):
        raise ValueError("is not a name; use lower-case letters, digits and -, at most 40, a letter or digit first")
    return text


def _tool(text: str) -> str:
    complaint = tool_complaint(text)
    if complaint is not None:
        raise ValueError("; ".join(complaint))
    return text


AgentName = Annotated[str, AfterValidator(checked_name)]
ToolName = Annotated[str, AfterValidator(_tool)]
ModeWord = Annotated[Mode, Field(strict=False)]
