"""An MCP server that keeps notes in the folder it is started in: lists, removes and publishes them. On the MCP Python SDK alone.

Before it publishes anything it asks a person where to, in either version of the protocol.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

NOTES = Path("notes")
PUBLISHED = Path("published.txt")

NAME: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    Tool(name="list_notes", description="The names of all notes.", input_schema={"type": "object"}),
    Tool(name="remove_note", description="Remove a note for good.", input_schema=NAME),
    Tool(name="publish_note", description="Publish a note.", input_schema=NAME),
]
WHERE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "audience": {
            "type": "string",
            "title": "Who may read it",
            "oneOf": [{"const": "team", "title": "The team"}, {"const": "everybody", "title": "Everybody"}],
        }
    },
    "required": ["audience"],
}

Context = ServerRequestContext[Any, Any]


def said(text: str, *, failed: bool = False) -> CallToolResult:
    """A result of one text."""
    return CallToolResult(content=[TextContent(text=text)], is_error=failed)


def names() -> list[str]:
    """Of all notes."""
    return sorted(path.stem for path in NOTES.glob("*.txt"))


def note_of(arguments: Mapping[str, Any]) -> Path | None:
    """The note that a call names; None: there is none."""
    name = str(arguments.get("name", ""))
    return NOTES / f"{name}.txt" if name in names() else None


def put_out(note: Path, audience: str) -> None:
    """Have it read."""
    with PUBLISHED.open("a") as file:
        file.write(f"{audience}: {note.read_text()}")


async def publish(ctx: Context, params: CallToolRequestParams, note: Path) -> CallToolResult | InputRequiredResult:
    """Ask where to, then do it."""
    message = f"Who may read the note “{note.stem}”?"
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (params.input_responses or {}).get("where")
        if answer is None:
            form = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=WHERE))
            return InputRequiredResult(input_requests={"where": form})
    else:
        answer = await ctx.session.elicit_form(message, WHERE, ctx.request_id)
    if not isinstance(answer, ElicitResult) or answer.action != "accept" or not answer.content:
        return said("not published: nobody said who may read it", failed=True)
    audience = str(answer.content["audience"])
    put_out(note, audience)
    return said(f"published {note.stem} for {audience}")


async def call(ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    """One of the tools."""
    if params.name == "list_notes":
        return said("\n".join(names()))
    note = note_of(params.arguments or {})
    if note is None:
        return said("there is no such note", failed=True)
    if params.name == "publish_note":
        return await publish(ctx, params, note)
    note.unlink()
    return said(f"removed {note.stem}")


async def tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    """All of them."""
    return ListToolsResult(tools=TOOLS)


async def main() -> None:
    """Serve until the input ends."""
    server: Server[Any] = Server("notes", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
