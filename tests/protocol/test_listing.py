"""What `tools/list` says of a tool."""

from dataclasses import replace

import pytest
from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, Field

from mcp_server.protocol.instructions import instructions
from mcp_server.protocol.listing import listed, schema_of
from mcp_server.settings.schema import CHANNELS
from mcp_server.tools.base import Hints, ToolSpec


class Edit(BaseModel):
    """One."""

    title: str = Field(description="A property may be called so.")
    old: str | None = None


class Edits(BaseModel):
    edits: list[Edit]
    first: Edit


class Tree(BaseModel):
    children: list["Tree"] = []


SPEC = ToolSpec(name="edits", title="Edit files", description="Edits.", arguments=Edits, hints=Hints(open_world=True), output=Edit)

EDIT = {
    "type": "object",
    "description": "One.",
    "properties": {
        "title": {"type": "string", "description": "A property may be called so."},
        "old": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["title"],
}


def test_a_tool_is_listed_whole_and_without_references() -> None:
    assert listed([SPEC]) == [
        Tool(
            name="edits",
            title="Edit files",
            description="Edits.",
            input_schema={
                "type": "object",
                "properties": {"edits": {"type": "array", "items": EDIT}, "first": EDIT},
                "required": ["edits", "first"],
            },
            output_schema=EDIT,
            annotations=ToolAnnotations(
                title="Edit files", read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
            ),
        )
    ]


def test_a_recursive_shape_keeps_its_references() -> None:
    schema = schema_of(Tree)
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_tool_that_only_reads_does_not_claim_to_destroy() -> None:
    (tool,) = listed([replace(SPEC, hints=Hints(read_only=True))])
    assert tool.annotations is not None
    assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)


@pytest.mark.parametrize("name", ["", "a" * 41, "a.b", "über", "a b", "a\n"])
def test_a_name_that_hides_tools_in_some_client_stops_the_start(name: str) -> None:
    with pytest.raises(ValueError, match="no tool name"):
        listed([replace(SPEC, name=name)])


def test_a_description_that_clients_cut_stops_the_start() -> None:
    with pytest.raises(ValueError, match="2 KB"):
        listed([replace(SPEC, description="é" * 1024)])


def test_two_tools_of_one_name_stop_the_start() -> None:
    with pytest.raises(ValueError, match="share a name"):
        listed([SPEC, SPEC])


def test_the_instructions_are_not_cut_either() -> None:
    assert len(instructions(CHANNELS).encode()) < 2048
