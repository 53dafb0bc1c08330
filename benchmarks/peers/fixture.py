"""The server behind all of them, and a proxy in front of it, both on the SDK alone.

`python -m benchmarks.peers.fixture PORT`: the server. `python -m benchmarks.peers.fixture PORT URL`: a proxy that passes each call on to
URL over one connection, and does nothing else.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.client.client import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

SAY = Tool(
    name="say",
    description="Says it.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)

Request = ServerRequestContext[Any, Any]


def fixture() -> Server[Any]:
    """One tool, which does next to nothing."""

    async def list_tools(ctx: Request, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[SAY])

    async def call_tool(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=f"said {(params.arguments or {})['text']}")])

    return Server("fixture", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def passing(url: str) -> Server[Any]:
    """Its tools and calls are those of the server at `url`."""
    behind: list[Client] = []

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncGenerator[None]:
        async with Client(url) as client:
            behind.append(client)
            yield

    async def list_tools(ctx: Request, params: PaginatedRequestParams | None) -> ListToolsResult:
        return await behind[0].session.list_tools(params=params)

    async def call_tool(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
        return await behind[0].session.call_tool(params.name, params.arguments)

    return Server("passing", version="1", on_list_tools=list_tools, on_call_tool=call_tool, lifespan=lifespan)


if __name__ == "__main__":
    served = passing(sys.argv[2]) if len(sys.argv) > 2 else fixture()
    uvicorn.run(served.streamable_http_app(), port=int(sys.argv[1]), log_level="error", access_log=False)
