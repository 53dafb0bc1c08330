"""The real client over {in memory, stdio, HTTP} x {2025-11-25, 2026-07-28}, with a scripted person behind its forms."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
import pytest
import uvicorn
from mcp.client.client import Client
from mcp.client.extension import ClientExtension
from mcp.client.session import ClientRequestContext, MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters
from mcp.server.lowlevel.server import Server
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent

from mcp_server.protocol.http import PATH, http_app, listen
from mcp_server.protocol.lines import Line
from tests.bounds import LONG

ROOT = Path(__file__).parents[2]

Transport = Literal["memory", "stdio", "http"]
Era = Literal["2025-11-25", "2026-07-28"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One way to be connected."""

    transport: Transport
    era: Era

    def __str__(self) -> str:
        return f"{self.transport}-{self.era}"


TRANSPORTS: tuple[Transport, ...] = ("memory", "stdio", "http")
ERAS: tuple[Era, ...] = ("2025-11-25", "2026-07-28")
CELLS = tuple(Cell(transport=transport, era=era) for transport in TRANSPORTS for era in ERAS)
each_cell = pytest.mark.parametrize("cell", CELLS, ids=str)
each_near_cell = pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.transport != "stdio"], ids=str)
"""Those within this process: for rows where a process each would cost much and show nothing new."""

# ---- the person ---------------------------------------------------------------------------------

Act = Callable[[ElicitRequestFormParams], Awaitable[ElicitResult]]


class Person:
    """Answers forms, one act each; the last act is repeated. Keeps every form that was shown."""

    def __init__(self, *acts: Act) -> None:
        self.acts: list[Act] = list(acts)
        self.forms: list[ElicitRequestFormParams] = []
        self.withdrawn = 0
        self._seen = anyio.Event()

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        act = self.acts[0] if len(self.acts) == 1 else self.acts.pop(0)
        self.forms.append(params)
        self._seen.set()
        try:
            return await act(params)
        except anyio.get_cancelled_exc_class():
            self.withdrawn += 1
            raise

    async def sees_a_form(self) -> None:
        """Wait for the first form."""
        await self._seen.wait()


def decides(decision: str, words: str | None = None) -> Act:
    """Chooses, and may add words."""
    return accepts(decision=decision) if words is None else accepts(decision=decision, words=words)


def accepts(**content: str | list[str]) -> Act:
    """Accepts the form with this content; none: a bare accept."""

    async def act(_: ElicitRequestFormParams) -> ElicitResult:
        return ElicitResult(action="accept", content=dict(content) if content else None)

    return act


async def declines(_: ElicitRequestFormParams) -> ElicitResult:
    """Declines the form."""
    return ElicitResult(action="decline")


async def closes(_: ElicitRequestFormParams) -> ElicitResult:
    """Closes the form without a choice."""
    return ElicitResult(action="cancel")


async def stares(_: ElicitRequestFormParams) -> ElicitResult:
    """Never answers."""
    await anyio.sleep_forever()
    raise AssertionError


def after(event: Callable[[], Awaitable[object]], then: Act) -> Act:
    """Has something happen once the form is seen, and then acts."""

    async def act(params: ElicitRequestFormParams) -> ElicitResult:
        await event()
        return await then(params)

    return act


# ---- connecting ---------------------------------------------------------------------------------


def client_of(
    target: Server[Line] | str | StdioServerParameters,
    era: Era,
    person: Person | None,
    heard: MessageHandlerFnT | None = None,
    extensions: Sequence[ClientExtension] = (),
) -> Client:
    """A client of that era, not yet entered. Without a person it declares no forms. `heard`: given what the server sends unasked."""
    return Client(
        target,
        mode="legacy" if era == "2025-11-25" else "auto",
        elicitation_callback=person,
        message_handler=heard,
        extensions=extensions,
        read_timeout_seconds=2 * LONG,
    )


@asynccontextmanager
async def served_http(server: Server[Line]) -> AsyncGenerator[str]:
    """The server over HTTP in this process, on a free port; yields its URL."""
    with listen("127.0.0.1", 0) as sock:
        port = int(sock.getsockname()[1])
        config = uvicorn.Config(http_app(server, port=port), log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            try:
                yield f"http://127.0.0.1:{port}{PATH}"
            finally:
                running.should_exit = True


def command(*words: str) -> StdioServerParameters:
    """A command line to be started for standard input and output, in the repository's folder."""
    return StdioServerParameters(command=words[0], args=list(words[1:]), cwd=ROOT)


@asynccontextmanager
async def connected(
    cell: Cell,
    *,
    server: Callable[[], Server[Line]],
    command_line: Sequence[str],
    person: Person | None = None,
    heard: MessageHandlerFnT | None = None,
    extensions: Sequence[ClientExtension] = (),
) -> AsyncGenerator[Client]:
    """A client in this cell: of `server()` in this process, or of a process started from `command_line`."""
    match cell.transport:
        case "memory":
            async with client_of(server(), cell.era, person, heard, extensions) as client:
                yield _checked(client, cell)
        case "stdio":
            async with client_of(command(*command_line), cell.era, person, heard, extensions) as client:
                yield _checked(client, cell)
        case "http":
            async with served_http(server()) as url, client_of(url, cell.era, person, heard, extensions) as client:
                yield _checked(client, cell)


def _checked(client: Client, cell: Cell) -> Client:
    assert client.protocol_version == cell.era, "the client fell back to another era"
    return client


def text_of(content: Sequence[object]) -> str:
    """The text blocks of a result."""
    return "\n".join(block.text for block in content if isinstance(block, TextContent))
