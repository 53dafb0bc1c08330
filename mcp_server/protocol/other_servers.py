"""Resources and prompts of other servers beside Remit's own, in both eras. What a client asks for goes through the gate like a call of a
tool, and whatever that asks of a person rides on the request.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from mcp_server.protocol.agent_prompts import AgentPrompts
from mcp_server.protocol.calls import CallerOf, Request, ToolCalls
from mcp_server.protocol.lines import Line
from mcp_server.protocol.looks import Looks
from mcp_server.protocol.resources import not_yours
from mcp_server.protocol.shelf_lists import prompts_in, resources_in, templates_in
from mcp_server.protocol.upstream.addresses import read_uri
from mcp_server.protocol.wire import FROM
from mcp_server.sessions.front import Front, Shelf
from mcp_server.sessions.toolset.shelves import DESCRIPTION, MORE, NOT_THERE, PROMPTS, PROPOSALS, RESOURCES, ROLES, TOTAL, VALUES
from mcp_server.tools.base import SEPARATOR
from mcp_server.tools.news import Kind

Meta = dict[str, Any]


class OtherServers:
    """Answers these requests: with what is Remit's own, and what other servers have."""

    def __init__(self, front: Front, calls: ToolCalls, looks: Looks | None, *, caller_of: CallerOf) -> None:
        self._front = front
        self._calls = calls
        self._prompts = AgentPrompts(front, caller_of)
        self._looks = looks
        self._caller_of = caller_of

    def serve(self, server: Server[Line]) -> None:
        """Have a server answer these requests. After `looks`, whose place it takes."""
        server.add_request_handler("prompts/list", PaginatedRequestParams, self.list_prompts)
        server.add_request_handler("prompts/get", GetPromptRequestParams, self.get_prompt)
        server.add_request_handler("completion/complete", CompleteRequestParams, self.complete)
        if self._looks is not None:
            server.add_request_handler("resources/list", PaginatedRequestParams, self.list_resources)
            server.add_request_handler("resources/templates/list", PaginatedRequestParams, self.list_templates)
            server.add_request_handler("resources/read", ReadResourceRequestParams, self.read_resource)

    # ---- lists ----------------------------------------------------------------------------------

    async def list_resources(self, ctx: Request, params: PaginatedRequestParams) -> ListResourcesResult:
        """`resources/list`, in one page."""
        own = [] if self._looks is None else (await self._looks.list_resources(ctx, params)).resources
        shelves = await self._shelves(ctx, "resources")
        return ListResourcesResult(resources=[*own, *(each for shelf in shelves for each in resources_in(shelf))])

    async def list_templates(self, ctx: Request, params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        """`resources/templates/list`, in one page."""
        own = [] if self._looks is None else (await self._looks.list_templates(ctx, params)).resource_templates
        shelves = await self._front.shelves_for(self._caller_of(ctx))
        return ListResourceTemplatesResult(resource_templates=[*own, *(each for shelf in shelves for each in templates_in(shelf))])

    async def list_prompts(self, ctx: Request, params: PaginatedRequestParams | None) -> ListPromptsResult:
        """`prompts/list`, in one page."""
        own = (await self._prompts.listed(ctx, params)).prompts
        shelves = await self._shelves(ctx, "prompts")
        return ListPromptsResult(prompts=[*own, *(each for shelf in shelves for each in prompts_in(shelf))])

    async def _shelves(self, ctx: Request, kind: Kind) -> Sequence[Shelf]:
        caller = self._caller_of(ctx)
        shelves = await self._front.shelves_for(caller)
        if self._looks is not None:
            self._looks.gave_shelves(ctx, caller, kind, shelves)
        return shelves

    # ---- readings -------------------------------------------------------------------------------

    async def read_resource(self, ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult | InputRequiredResult:
        """`resources/read`.

        Raises:
            MCPError: There is none, or rules or people do not let it be read.
        """
        address = read_uri(params.uri)
        if address is None:
            if self._looks is None:
                raise not_yours(ctx, params.uri)
            return await self._looks.read_resource(ctx, params)
        server, own = address
        made = await self._made(ctx, params, server, RESOURCES, {"uri": own})
        if isinstance(made, InputRequiredResult):
            return made
        if made.structured_content == NOT_THERE:
            raise not_yours(ctx, params.uri)
        contents = [block.resource for block in _given(made) if isinstance(block, EmbeddedResource)]
        return ReadResourceResult(contents=contents, _meta={FROM: server})

    async def get_prompt(self, ctx: Request, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        """`prompts/get`.

        Raises:
            MCPError: There is none, or rules or people do not let it be got.
        """
        server, own = await self._prompt(ctx, params.name)
        if own is None:
            return await self._prompts.got(ctx, params)
        made = await self._made(ctx, params, server, PROMPTS, {"name": own, "arguments": params.arguments or {}})
        if isinstance(made, InputRequiredResult):
            return made
        blocks, said = _given(made), made.structured_content
        messages = [PromptMessage(role=role, content=block) for role, block in zip(said[ROLES], blocks, strict=True)]
        return GetPromptResult(description=said[DESCRIPTION] or None, messages=messages, _meta={FROM: server})

    async def complete(self, ctx: Request, params: CompleteRequestParams) -> CompleteResult:
        """`completion/complete`. Where nothing can be proposed, nothing is; that is no error."""
        server, kind, own = await self._wanted(ctx, params)
        if own is None:
            return CompleteResult(completion=Completion(values=[]))
        others = {} if params.context is None else params.context.arguments or {}
        asked = {"kind": kind, "own": own, "argument": params.argument.name, "begun": params.argument.value, "others": others}
        made = await self._made(ctx, GetPromptRequestParams(name=""), server, PROPOSALS, asked)
        if isinstance(made, InputRequiredResult) or made.is_error:
            return CompleteResult(completion=Completion(values=[]))
        said = made.structured_content
        return CompleteResult(completion=Completion(values=said[VALUES], total=said[TOTAL], has_more=said[MORE]))

    async def _wanted(self, ctx: Request, params: CompleteRequestParams) -> tuple[str, str, str | None]:
        if isinstance(params.ref, PromptReference):
            server, own = await self._prompt(ctx, params.ref.name)
            return server, "prompt", own
        server, own = read_uri(params.ref.uri) or ("", None)
        return server, "template", own

    async def _prompt(self, ctx: Request, name: str) -> tuple[str, str | None]:
        """Whose prompt it is, and its own name there. None: it is none of another server's."""
        server, separator, _ = name.partition(SEPARATOR)
        shelves = await self._front.shelves_for(self._caller_of(ctx), server) if separator else ()
        return server, next((one.own_name for shelf in shelves for one in shelf.prompts if one.name == name), None)

    async def _made(
        self,
        ctx: Request,
        params: ReadResourceRequestParams | GetPromptRequestParams,
        server: str,
        kind: str,
        arguments: Mapping[str, Any],
    ) -> CallToolResult | InputRequiredResult:
        """As a call: judged, asked about, written down."""
        spec = self._front.reader(self._caller_of(ctx), server, kind)
        if spec is None:
            raise not_yours(ctx, getattr(params, "uri", ""))
        call = CallToolRequestParams(
            name=spec.name, arguments=dict(arguments), input_responses=params.input_responses, request_state=params.request_state
        )
        return await self._calls.made(ctx, spec, call)


def _given(made: CallToolResult) -> list[Any]:
    """What came of it.

    Raises:
        MCPError: Nothing, for a reason in words.
    """
    if made.is_error:
        raise MCPError(INVALID_REQUEST, "\n".join(block.text for block in made.content if isinstance(block, TextContent)))
    return list(made.content)
