"""MCP Apps (`io.modelcontextprotocol/ui`): what tools, resources and results say to a request that declares them. What the panel shows and
takes is not known here.

A secret of the panel's is in `_meta` alone, which a host gives to the app and not to its model.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.protocol.lines import Line
from mcp_server.records import Prompt, SessionRecord
from mcp_server.sessions.front import Caller, Open
from mcp_server.sessions.view import CARRIERS
from mcp_server.tools.base import SEPARATOR, ToolSpec

IDENTIFIER = EXTENSION_ID

Request = ServerRequestContext[Line, Any]

ADDRESS = "ui://remit/approvals"
"""Of the one document that every panel is."""

META = "remit/panel"
"""The key in a result's `_meta` under which everything for the panel stands."""

NO_DOMAINS: Mapping[str, list[str]] = {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []}
"""The document loads nothing and talks to nobody but its host."""

HINT = (
    "If this client shows Remit's panel beside this result, the person can answer there. Only a person can: there is nothing for you to "
    "call or to say in its place."
)


class Panel(Protocol):
    """A person's prompts inside their client, and what they answer there."""

    def tools(self) -> Sequence[Tool]:
        """Those that the app calls, and no model."""
        ...

    async def call(self, caller: Caller, root: SessionRecord, params: CallToolRequestParams) -> CallToolResult:
        """One call of one of them. Never raises for what the arguments hold."""
        ...

    async def handed(self, caller: Caller, root: SessionRecord, prompts: Sequence[Prompt]) -> Mapping[str, Any]:
        """What a result brings the panel, for `_meta` alone."""
        ...

    def missing(self, root: SessionRecord, prompts: Sequence[Prompt]) -> bool:
        """Is there one among these, which a request of this root may show, that no panel was given, and no panel in sight to ask for it?"""
        ...

    def document(self) -> str:
        """The HTML."""
        ...


Lister = Callable[[Request, PaginatedRequestParams | None], Awaitable[ListToolsResult]]
Reader = Callable[[Request, ReadResourceRequestParams], Awaitable[ReadResourceResult | InputRequiredResult]]


def declares_apps(ctx: Request) -> bool:
    """Says this very request, or up to 2025-11-25 its connection, that its client shows documents of the one kind there is, and is what
    waits there its own?

    From 2026-07-28 on over HTTP all callers are one where nobody says who they are: there any program of this machine, one that an
    agent runs too, could ask for the panel of another's prompts. So there is none. Behind a gateway each caller has shown a token.
    """
    known = ctx.request is not None and isinstance(ctx.request.scope.get("user"), AuthenticatedUser)
    shared = ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and not known
    return client_supports_apps(ctx) and not shared


def lister(listed_for: Callable[[Request], Awaitable[Sequence[Tool]]], specs: Sequence[ToolSpec], panel: Panel | None) -> Lister:
    """Answers `tools/list`: with the panel, where the request declares apps. `listed_for`: what whoever makes the request is given."""
    waiting = {spec.name for spec in specs if not spec.by_ownership or spec.name in CARRIERS}

    async def list_tools(ctx: Request, _: PaginatedRequestParams | None) -> ListToolsResult:
        tools = await listed_for(ctx)
        if panel is None or not declares_apps(ctx):
            return ListToolsResult(tools=list(tools))
        linked = [
            tool.model_copy(update={"meta": {"ui": {"resourceUri": ADDRESS}}}) if tool.name in waiting or SEPARATOR in tool.name else tool
            for tool in tools
        ]
        return ListToolsResult(tools=[*linked, *panel.tools()])

    return list_tools


def reader(panel: Panel, otherwise: Reader) -> Reader:
    """Answers `resources/read` for the panel's document, where the request declares apps; passes on every other address."""

    async def read(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult | InputRequiredResult:
        if str(params.uri) != ADDRESS or not declares_apps(ctx):
            return await otherwise(ctx, params)
        meta = {"ui": {"csp": dict(NO_DOMAINS), "prefersBorder": True}}
        return ReadResourceResult(
            contents=[TextResourceContents(uri=params.uri, mime_type=APP_MIME_TYPE, text=panel.document(), _meta=meta)]
        )

    return read


async def beside(panel: Panel, caller: Caller, root: SessionRecord, still: Open, result: CallToolResult) -> CallToolResult:
    """The result of a call that goes on, with what its panel needs. The model's part of it says no more than that there is one."""
    if not still.prompts:
        return result
    handed = await panel.handed(caller, root, still.prompts)
    content = [*result.content, TextContent(type="text", text=HINT)]
    return result.model_copy(update={"content": content, "meta": {**(result.meta or {}), META: dict(handed)}})
