"""The MCP server: what it lists, what it says of itself, and where its calls go. One object serves both eras and all transports."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types import CallToolRequestParams, ReadResourceRequestParams, Tool

from mcp_server.protocol.apps import IDENTIFIER, Panel, lister, reader
from mcp_server.protocol.arriving import Arriving
from mcp_server.protocol.calls import CallerOf, Noted, Request, ToolCalls, unnoted
from mcp_server.protocol.instructions import instructions
from mcp_server.protocol.lines import Line, lifespan_of
from mcp_server.protocol.listing import listed
from mcp_server.protocol.looks import Looks
from mcp_server.protocol.other_servers import OtherServers
from mcp_server.protocol.showing import Showing
from mcp_server.protocol.tasks import Tasks
from mcp_server.protocol.timing import Timing
from mcp_server.sessions.front import Front

_NAME = "remit"
_LIST_MILLISECONDS = 60_000
"""How long a client may keep a list: the tools change with a restart only, the agents with their files."""


class _Server(Server[Line]):
    """Says up to 2025-11-25 as well that it tells of changes in its lists. The SDK takes that from each transport's caller,
    and its own HTTP transport says nothing.
    """

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(
    front: Front,
    *,
    caller_of: CallerOf,
    keys: Sequence[bytes],
    version: str,
    tasks: Tasks | None = None,
    timing: Timing | None = None,
    looks: Looks | None = None,
    panel: Panel | None = None,
    clock: Callable[[], float] = time.time,
    showing: Showing | None = None,
    noted: Noted = unnoted,
) -> Server[Line]:
    """A server over a front. Starts nothing.

    Args:
        front: The door to the sessions.
        caller_of: Who makes a request. Called for each, before anything else.
        keys: For sealing request states, 32 bytes each; the first seals, all open.
        version: Of this distribution.
        tasks: Gives clients that know them tasks for calls that outlast their request; None: nobody is given one.
        timing: Bounds, where they are not the usual ones.
        looks: Where callers may look at their sessions without a call; None: nowhere.
        panel: Shows prompts inside clients that render apps; None: no client is shown any.
        clock: Seconds since the epoch.
        showing: By what prompts may be answered, as `tasks` has it; None: by every channel, with no console to lead to.
        noted: Told what came of each call.

    Raises:
        ValueError: A tool's name or description that clients would choke on.
    """
    timing, showing = timing or Timing(), showing or Showing()
    tools = listed(front.specs())
    schemas = {tool.name: tool.input_schema for tool in tools}

    server = _Server(
        _NAME,
        version=version,
        title="Remit",
        description="Governed subagents: each works within a remit that is cut from its caller's.",
        instructions=instructions(showing.ways.channels),
        cache_hints={"tools/list": CacheHint(ttl_ms=_LIST_MILLISECONDS), "prompts/list": CacheHint(ttl_ms=_LIST_MILLISECONDS)},
        lifespan=lifespan_of(front, timing),
        get_tool_input_schema=schemas.get,
        on_list_tools=lister(_given(front, caller_of, tools, looks), front.specs(), panel),
    )
    # Not as `on_call_tool`: that knows nothing of results that an extension claims.
    arriving = Arriving(front=front, timing=timing, showing=showing, clock=clock)
    calls = ToolCalls(arriving, caller_of=caller_of, keeper=tasks, panel=panel, noted=noted)
    server.add_request_handler("tools/call", CallToolRequestParams, calls)
    _extend(server, tasks, looks)
    _beside(server, OtherServers(front, calls, looks, caller_of=caller_of), panel)
    security = RequestStateSecurity(keys=keys, ttl=timing.form_life, bind_principal=lambda ctx: caller_of(ctx).principal.key)
    server.middleware.append(RequestStateBoundary(security, default_audience=_NAME))
    return server


def _given(front: Front, caller_of: CallerOf, every: Sequence[Tool], looks: Looks | None) -> Callable[[Request], Awaitable[Sequence[Tool]]]:
    """The tools of whoever makes a request; the list that was made once, where no settings speak of callers."""

    async def given(ctx: Request) -> Sequence[Tool]:
        caller = caller_of(ctx)
        own = every if caller.membership is None else listed(front.specs_for(caller))
        foreign = listed(await front.foreign_for(caller))
        if looks is not None:
            looks.gave_tools(ctx, caller, foreign)
        return (*own, *foreign)

    return given


def _beside(server: Server[Line], others: OtherServers, panel: Panel | None) -> None:
    """Resources and prompts, of other servers too; the panel's document first."""
    others.serve(server)
    if panel is not None:
        server.add_request_handler("resources/read", ReadResourceRequestParams, reader(panel, others.read_resource))
        server.extensions[IDENTIFIER] = {}


def _extend(server: Server[Line], tasks: Tasks | None, looks: Looks | None) -> None:
    """What not every deployment has."""
    if tasks is not None:
        tasks.serve(server)
    if looks is not None:
        looks.serve(server)
