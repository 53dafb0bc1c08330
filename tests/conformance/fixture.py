"""The server that the conformance suite is run against where a scenario asks for tools:

    python -m tests.conformance.fixture FOLDER [stdio] [old]

`stdio`: over standard input and output, not over HTTP. `old`: it speaks 2025-11-25 and nothing later.

Everything of it that speaks the protocol is Remit's: the server object, the HTTP application, sealed states, streams of notifications
and tasks. Its tasks' tools pass the gate of real sessions over a real store; the rest are plain handlers in place of Remit's own.
"""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    PromptListChangedNotification,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    ToolListChangedNotification,
    UnsubscribeRequestParams,
)

from mcp_server.app import backend_of
from mcp_server.principal import LOCAL
from mcp_server.protocol.calls import Request, ToolCalls
from mcp_server.protocol.http import listen, serve_http
from mcp_server.protocol.lines import Line
from mcp_server.protocol.listening import Listening, Meta, Send
from mcp_server.protocol.server import build_server
from mcp_server.protocol.stdio import serve_stdio
from mcp_server.protocol.tasks import Tasks
from mcp_server.protocol.timing import Timing
from mcp_server.sessions.deployment import Deployment, Limits
from mcp_server.sessions.desk import Desk
from mcp_server.sessions.front import Caller
from mcp_server.sessions.preparing import Preparing
from mcp_server.sessions.promise_desk import PromiseDesk
from mcp_server.sessions.rulebook import FileRules
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.toolset.all import every_tool
from mcp_server.sessions.watch import Watch
from mcp_server.settings.values import Flags
from mcp_server.store.sqlite import open_store
from tests.behaviour.world import World, make_world
from tests.conformance import reading
from tests.conformance.names import TRIGGERS
from tests.conformance.plain_tools import PLAIN, SCHEMAS, listed, said
from tests.conformance.round_tools import ROUNDS
from tests.conformance.task_tools import ALLOWED, ASKER, SCRIPT, Aliases, PanickingGate, task_tools
from tests.upstream.scripted import OldEra

SETTINGS = {"permission": {ALLOWED: "allow"}}


class Lists:
    """A `Source`: that the lists of tools and prompts changed, which is when a tool of the suite's says so."""

    def __init__(self) -> None:
        self._changed: dict[str, anyio.Event] = {"toolsListChanged": anyio.Event(), "promptsListChanged": anyio.Event()}

    def change(self, field: str) -> None:
        """Tell whoever listens."""
        event, self._changed[field] = self._changed[field], anyio.Event()
        event.set()

    async def watch(self, ctx: Request, wanted: SubscriptionFilter) -> "WatchedLists":
        asked = {"toolsListChanged": wanted.tools_list_changed, "promptsListChanged": wanted.prompts_list_changed}
        return WatchedLists(self._changed, [field for field, wish in asked.items() if wish])


class WatchedLists:
    """See `Watching`."""

    def __init__(self, changed: Mapping[str, anyio.Event], fields: list[str]) -> None:
        self._changed = changed
        self._fields = fields

    @property
    def honored(self) -> Mapping[str, Any]:
        return dict.fromkeys(self._fields, True)

    async def tell(self, send: Send, meta: Meta) -> None:
        async with anyio.create_task_group() as group:
            for field in self._fields:
                group.start_soon(self._tell, field, send, meta)

    def end(self) -> None:
        """Nothing is held."""

    async def _tell(self, field: str, send: Send, meta: Meta) -> None:
        while True:
            await self._changed[field].wait()
            params = NotificationParams(_meta=meta)
            tools = field == "toolsListChanged"
            await send(ToolListChangedNotification(params=params) if tools else PromptListChangedNotification(params=params))


class Fixture:
    """Remit's server with the suite's tools in place of its own."""

    def __init__(self, server: Server[Line], caller: Caller) -> None:
        entry = server.get_request_handler("tools/call")
        if entry is None or not isinstance(entry.handler, ToolCalls):
            raise TypeError("the server answers calls otherwise than it did")
        self._aliases = Aliases(entry.handler)
        self._lists = Lists()
        self._mount(server, caller)

    def _mount(self, server: Server[Line], caller: Caller) -> None:
        server.get_tool_input_schema = SCHEMAS.get
        server.add_request_handler("tools/list", PaginatedRequestParams, self._list)
        server.add_request_handler("tools/call", CallToolRequestParams, self._call)
        server.add_request_handler(
            "subscriptions/listen", SubscriptionsListenRequestParams, Listening([self._lists], caller_of=lambda _: caller)
        )
        server.add_request_handler("resources/list", PaginatedRequestParams, reading.list_resources)
        server.add_request_handler("resources/templates/list", PaginatedRequestParams, reading.list_templates)
        server.add_request_handler("resources/read", ReadResourceRequestParams, reading.read_resource)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, reading.subscribe)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, reading.unsubscribe)
        server.add_request_handler("prompts/list", PaginatedRequestParams, reading.list_prompts)
        server.add_request_handler("prompts/get", GetPromptRequestParams, reading.get_prompt)
        server.add_request_handler("completion/complete", CompleteRequestParams, reading.complete)
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, reading.set_level)

    async def _list(self, ctx: Request, params: PaginatedRequestParams) -> ListToolsResult:
        tasks = [*listed(task_tools()), *self._aliases.listed()]
        return ListToolsResult(tools=[*tasks, *listed({**PLAIN, **ROUNDS, **TRIGGERS})])

    async def _call(self, ctx: Request, params: CallToolRequestParams) -> HandlerResult:
        handler = PLAIN.get(params.name) or ROUNDS.get(params.name)
        if handler is not None:
            return await handler(ctx, params)
        if params.name in TRIGGERS:
            self._lists.change(TRIGGERS[params.name])
            return said("changed")
        return await self._aliases(ctx, params)


def deployment_of(world: World, rules: FileRules) -> Deployment:
    world.places.state.mkdir(mode=0o700)
    return Deployment(
        store=open_store(world.places.state / "remit.db"),
        clock=time.time,
        rulebook=rules,
        backend=backend_of(rules.edition.settings, world.workspace, {}),
        limits=Limits(children=100),
        outputs=world.places.cache,
        environment={},
        owner="fixture",
        workspaces=(str(world.workspace),),
    )


async def _serve_old(server: Server[Line], *, on_end: Callable[[], Awaitable[None]]) -> None:
    """Over standard input and output, where one modern message would already make the connection a modern one."""
    async with stdio_server() as (incoming, outgoing), OldEra(server) as (told, says), anyio.create_task_group() as group:

        async def out() -> None:
            async for message in told:
                await outgoing.send(message)

        group.start_soon(out)
        async for message in incoming:
            await says.send(message)
        await on_end()
        group.cancel_scope.cancel()


async def _old(ctx: Request, call_next: CallNext) -> HandlerResult:
    """As a server that knows nothing of `server/discover` answers."""
    if ctx.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


async def serve(folder: Path, *words: str) -> None:
    """Until a signal. Over HTTP it writes the URL on standard output."""
    world = make_world(folder, script=SCRIPT, settings=SETTINGS, agents={"asker": ASKER})
    deployment = deployment_of(world, FileRules(workspace=world.workspace, places=world.places, flags=Flags()))
    supervisor = Supervisor(deployment)
    tools = {**every_tool(deployment, supervisor, str(world.workspace)), **task_tools()}
    supervisor.equip(tools)
    toolbox = Toolbox(deployment, tools)
    desk = Desk(deployment, supervisor, PanickingGate(deployment, Preparing(toolbox), supervisor.prompting), toolbox)
    promised = PromiseDesk(deployment, supervisor, desk.book)
    caller = Caller(principal=LOCAL, workspace=str(world.workspace), agent="build")
    tasks = Tasks(desk, promised, caller_of=lambda _: caller, timing=Timing())
    server = build_server(desk, tasks=tasks, caller_of=lambda _: caller, keys=[os.urandom(32)], version="0")
    Fixture(server, caller)
    if "old" in words:
        server.middleware.append(_old)

    async def end() -> None:
        supervisor.stop()

    async with anyio.create_task_group() as group:
        desk.open(group)
        await supervisor.open(group)
        group.start_soon(Watch(deployment, supervisor).run)
        group.start_soon(promised.watch)
        if "stdio" in words:
            await (_serve_old if "old" in words else serve_stdio)(server, on_end=end)
        else:
            await serve_http(server, listen("127.0.0.1", 0), on_end=end, on_ready=lambda url: print(url, flush=True))  # noqa: T201 - for whoever started it
        group.cancel_scope.cancel()
    await deployment.store.close()


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]), *sys.argv[2:])
