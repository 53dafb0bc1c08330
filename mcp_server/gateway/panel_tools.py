"""The tools that the panel calls, and no model: how they are listed, and what they take."""

from typing import Annotated, Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.protocol.apps import ADDRESS
from mcp_server.protocol.listing import schema_of

OPEN = "approvals_open"
ANSWER = "approvals_answer"

LONGEST_WAIT = 5.0
"""Seconds that a look may wait for something new. Some hosts send one call at a time: a panel must not keep the model's waiting."""

Id = Annotated[str, Field(max_length=64)]
Text = Annotated[str, Field(max_length=4000)]
FieldName = Annotated[str, Field(max_length=32)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenArguments(_Strict):
    """Of a look."""

    panel: Annotated[str, Field(min_length=1, max_length=64, description="The name that this panel gave itself.")]
    seen: Annotated[tuple[Id, ...], Field(max_length=1000, description="Prompts that it was told were open, the last time.")] = ()
    known: Annotated[tuple[Id, ...], Field(max_length=100, description="Those that it shows.")] = ()
    renew: Annotated[tuple[Id, ...], Field(max_length=100, description="Those of them that it can answer no more.")] = ()
    wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="How long to wait for something new.")] = 0.0


class AnswerArguments(_Strict):
    """Of an answer."""

    prompt: Id
    secret: Annotated[str, Field(min_length=1, max_length=200)]
    fields: Annotated[dict[FieldName, Annotated[tuple[Text, ...], Field(max_length=100)]], Field(max_length=100)]


def _tool(name: str, title: str, description: str, arguments: type[BaseModel], *, reads: bool) -> Tool:
    meta: dict[str, Any] = {"ui": {"resourceUri": ADDRESS, "visibility": ["app"]}}
    hints = ToolAnnotations(title=title, read_only_hint=reads, destructive_hint=False, idempotent_hint=reads, open_world_hint=False)
    return Tool(name=name, title=title, description=description, input_schema=schema_of(arguments), annotations=hints, _meta=meta)


TOOLS = (
    _tool(
        OPEN,
        "What waits for an answer",
        "For the panel that a client shows to a person. It holds nothing for a model: what it returns is for the panel alone.",
        OpenArguments,
        reads=True,
    ),
    _tool(
        ANSWER,
        "A person's answer",
        "For the panel that a client shows to a person. It takes a secret that no model is given; a call without it is refused and written "
        "down.",
        AnswerArguments,
        reads=False,
    ),
)
