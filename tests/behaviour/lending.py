"""A client that lends its own model, beside a person or without: connected in any cell, as `world.connect` connects the others. And what
its model says.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.extension import ClientExtension
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ErrorData,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)

from mcp_server.app import Running, running
from mcp_server.policy.verdicts import SessionId
from mcp_server.protocol.lines import Line
from mcp_server.records import RunState
from mcp_server.sessions.deployment import Limits
from mcp_server.settings.values import Flags
from tests.behaviour.stories import TEAM, agent
from tests.behaviour.world import Connected, World, make_world
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, command, served_http

Reply = CreateMessageResult | CreateMessageResultWithTools | ErrorData
MODEL = "the-client's-own"
MODERN = Cell(transport="memory", era="2026-07-28")
Call = tuple[str, Mapping[str, Any]]
Speak = Callable[[CreateMessageRequestParams], Awaitable[Reply]]


class OwnModel:
    """The model that a client lends: answers as its function does, and keeps every request. `tools`: whether it can be given any."""

    def __init__(self, speak: Speak, *, tools: bool = True) -> None:
        self.speak = speak
        self.tools = tools
        self.asked: list[CreateMessageRequestParams] = []
        self.withdrawn = 0
        self._seen = anyio.Event()

    async def __call__(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> Reply:
        self.asked.append(params)
        self._seen.set()
        try:
            return await self.speak(params)
        except anyio.get_cancelled_exc_class():
            self.withdrawn += 1
            raise

    async def is_asked(self) -> None:
        """Wait for the first request."""
        await self._seen.wait()

    @property
    def declared(self) -> SamplingCapability:
        return SamplingCapability(tools=SamplingToolsCapability() if self.tools else None)


def _client(
    target: Server[Line] | str | StdioServerParameters,
    cell: Cell,
    model: OwnModel | None,
    person: Person | None,
    extensions: Sequence[ClientExtension] = (),
) -> Client:
    return Client(
        target,
        mode="legacy" if cell.era == "2025-11-25" else "auto",
        sampling_callback=model,
        sampling_capabilities=None if model is None else model.declared,
        elicitation_callback=person,
        extensions=extensions,
        read_timeout_seconds=2 * LONG,
    )


@asynccontextmanager
async def lent(
    world: World,
    cell: Cell,
    model: OwnModel | None = None,
    *,
    person: Person | None = None,
    limits: Callable[[Limits], Limits] = lambda limits: limits,
    extensions: Sequence[ClientExtension] = (),
) -> AsyncGenerator[Connected]:
    """A connected client that lends this model; None: it lends none. `extensions` are heard of in memory alone."""
    store = world.store()
    try:
        if cell.transport == "stdio":
            async with _client(command(*world.command_line), cell, model, person) as client:
                yield _found(client, cell, Connected(client=client, store=store, parts=None))
            return
        served = running(workspace=world.workspace, places=world.places, flags=Flags(), environment=os.environ, limits=limits)
        async with served as parts, _near(parts, cell, model, person, extensions) as client:
            yield _found(client, cell, Connected(client=client, store=store, parts=parts))
    finally:
        await store.close()


@asynccontextmanager
async def _near(
    parts: Running, cell: Cell, model: OwnModel | None, person: Person | None, extensions: Sequence[ClientExtension]
) -> AsyncGenerator[Client]:
    if cell.transport == "memory":
        async with _client(parts.server, cell, model, person, extensions) as client:
            yield client
        return
    async with served_http(parts.server) as url, _client(url, cell, model, person) as client:
        yield client


def _found(client: Client, cell: Cell, connected: Connected) -> Connected:
    assert client.protocol_version == cell.era, "the client fell back to another era"
    return connected


# ---- what it says ---------------------------------------------------------------------------------


def own_world(folder: Path, *, settings: Mapping[str, Any] | None = None, agents: Mapping[str, str] | None = None) -> World:
    """Every agent's model is the client's own."""
    said = {"model": "client", "sampling": True, **(settings or {})}
    reader = agent("permission:", "  read: allow")
    mute = agent("tools: []")
    return make_world(folder, settings=said, agents={**TEAM, "reader": reader, "mute": mute, **(agents or {})})


def turn(text: str = "", *calls: Call, stop: str | None = None, **more: Any) -> CreateMessageResultWithTools:
    """A turn of the client's model."""
    said: list[Any] = [TextContent(text=text)] if text else []
    said += [ToolUseContent(id=f"use{place}", name=tool, input=dict(arguments)) for place, (tool, arguments) in enumerate(calls)]
    meant = stop or ("toolUse" if calls else "endTurn")
    return CreateMessageResultWithTools(role="assistant", content=said, model=MODEL, stop_reason=meant, **more)


def always(reply: Reply) -> Callable[[CreateMessageRequestParams], Awaitable[Reply]]:
    async def speak(_: CreateMessageRequestParams) -> Reply:
        return reply

    return speak


def read(count: int) -> Callable[[CreateMessageRequestParams], Awaitable[Reply]]:
    """Reads another line so many times, one a turn, and then says what it saw last."""

    async def speak(params: CreateMessageRequestParams) -> Reply:
        done = sum(message.role == "assistant" for message in params.messages)
        if done < count:
            return turn(f"step {done}", ("read", {"filePath": "README.md", "limit": done + 1}))
        return turn(f"after {done}: {results(params)[-1]}")

    return speak


def results(params: CreateMessageRequestParams) -> list[str]:
    """The texts of all results that the model was given."""
    blocks = [block for message in params.messages for block in content(message) if isinstance(block, ToolResultContent)]
    return ["\n".join(one.text for one in block.content if isinstance(one, TextContent)) for block in blocks]


def content(message: SamplingMessage) -> list[Any]:
    return message.content_as_list


async def waits(connected: Connected, task_id: str) -> bool:
    """Does its run wait, for whatever?"""
    run = await connected.store.latest_run(SessionId(task_id))
    return run is not None and run.state is RunState.WAITING
