"""The smallest server on the SDK alone that has the tool: no rules, no audit, no store. `python -m benchmarks.peers.bare FOLDER`."""

import sys
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

READ = Tool(
    name="read",
    description="Reads a file, its lines numbered.",
    input_schema={"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]},
)

Request = ServerRequestContext[Any, Any]


def bare(folder: Path) -> Server[Any]:
    """The server over that folder."""

    async def list_tools(ctx: Request, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[READ])

    async def call_tool(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
        path = folder / str((params.arguments or {})["filePath"])
        text = await to_thread.run_sync(path.read_text)
        lines = [f"{number}: {line}" for number, line in enumerate(text.splitlines(), 1)]
        return CallToolResult(content=[TextContent(type="text", text="\n".join(lines))])

    return Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve(folder: Path) -> None:
    """Over standard input and output, to the end of it."""
    server = bare(folder)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]))
