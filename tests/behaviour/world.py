"""A whole Remit for one test: a workspace, a person's folders, a scripted model, and the real client in any cell."""

import json
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.extension import ClientExtension
from mcp.client.session import MessageHandlerFnT
from mcp.server.lowlevel.server import Server
from mcp_types import CallToolResult, TextContent

from mcp_server.app import STORE_FILE, Running, running
from mcp_server.principal import LOCAL
from mcp_server.protocol.lines import Line
from mcp_server.protocol.timing import Timing
from mcp_server.protocol.upstream.servers import Opener
from mcp_server.records import AuditEvent, Prompt, PromptState
from mcp_server.sessions.deployment import Limits
from mcp_server.sessions.executor import Advance, Executor, InProcess
from mcp_server.settings.places import Places
from mcp_server.settings.values import Flags
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from mcp_server.telemetry.base import SILENT, Telemetry
from tests.bounds import LONG
from tests.cradle.commands import module
from tests.protocol.connect import Cell, Person, connected

LOOK = 0.01
"""Seconds between two looks at a file that another process writes: nothing rings across processes."""

Script = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The files of one test."""

    folder: Path
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def places(self) -> Places:
        return Places(
            home=self.folder / "home",
            config=self.folder / "config",
            state=self.folder / "state",
            cache=self.folder / "cache",
            managed=self.folder / "managed",
            managed_owner=os.getuid(),
        )

    @property
    def command_line(self) -> tuple[str, ...]:
        """Starts the server as a process of its own, in this world's folders."""
        variables = {
            "HOME": self.places.home,
            "REMIT_CONFIG_DIR": self.places.config,
            "REMIT_STATE_DIR": self.places.state,
            "REMIT_CACHE_DIR": self.places.cache,
        }
        named = [f"{name}={folder}" for name, folder in variables.items()]
        return ("env", *named, *module("mcp_server", "serve", "--workspace", str(self.workspace)))

    def store(self) -> Store:
        """Another handle on the same file."""
        return open_store(self.places.state / STORE_FILE)


def make_world(
    folder: Path,
    *,
    script: Script | None = None,
    settings: Mapping[str, Any] | None = None,
    agents: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> World:
    """Write the files. `agents`: name to the whole Markdown; `files`: what lies in the workspace."""
    world = World(folder=folder)
    for place in (world.workspace, world.places.home, world.places.config / "agents"):
        place.mkdir(parents=True)
    said: dict[str, Any] = dict(settings or {})
    if script is not None:
        path = world.places.config / "script.yaml"
        path.write_text(json.dumps(script, indent=1))  # JSON is YAML, without aliases
        said["model"] = f"scripted:{path}"
    (world.places.config / "settings.yaml").write_text(json.dumps(said, indent=1))
    for name, text in (agents or {}).items():
        (world.places.config / "agents" / f"{name}.md").write_text(text)
    for name, text in (files or {"src/a.py": "print('a')\n", "README.md": "A sample.\n"}).items():
        (world.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (world.workspace / name).write_text(text)
    return world


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """A client, and what lies behind it."""

    client: Client
    store: Store
    """A handle of the test's own, as another process has it."""
    parts: Running | None
    """None where the server is a process of its own."""

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def open_prompts(self, count: int = 1) -> tuple[Prompt, ...]:
        """Wait until so many prompts are open."""
        with anyio.fail_after(LONG):
            while True:
                found = await self.store.prompts(state=PromptState.OPEN)
                if len(found) >= count:
                    return found
                await anyio.sleep(LOOK)

    async def audit(self) -> tuple[AuditEvent, ...]:
        return tuple(stored.event for stored in await self.store.audit_log(principal=LOCAL.key))


_FRESH: list[bytes] = []
"""A store in which nothing is, as a server makes it that finds none."""


async def begin_store(world: World) -> None:
    """Lay a fresh store where there is no state yet: to make one takes ten times longer than most of what a test does with it. That a
    server makes its own is shown wherever it is a process of its own.
    """
    if world.places.state.exists():
        return
    if not _FRESH:
        with tempfile.TemporaryDirectory(prefix="remit-fresh-") as folder:
            store = open_store(Path(folder) / STORE_FILE)
            await store.close()
            _FRESH.append((Path(folder) / STORE_FILE).read_bytes())
    world.places.state.mkdir(mode=0o700)
    file = world.places.state / STORE_FILE
    file.touch(0o600)
    file.write_bytes(_FRESH[0])


@asynccontextmanager
async def connect(
    world: World,
    cell: Cell,
    *,
    person: Person | None = None,
    heard: MessageHandlerFnT | None = None,
    timing: Timing | None = None,
    limits: Callable[[Limits], Limits] = lambda limits: limits,
    flags: Flags | None = None,
    opened: Callable[[Path], Store] | None = None,
    extensions: Sequence[ClientExtension] = (),
    clock: Callable[[], float] = time.time,
    executor: Callable[[Advance], Executor] = InProcess,
    telemetry: Telemetry = SILENT,
    opener: Opener | None = None,
) -> AsyncGenerator[Connected]:
    """A connected client. Over stdio the server is a process of its own, and `timing` and `limits` come from its settings alone."""
    if cell.transport == "stdio":
        async with connected(
            cell, server=_no_server, command_line=world.command_line, person=person, heard=heard, extensions=extensions
        ) as client:
            store = world.store()
            try:
                yield Connected(client=client, store=store, parts=None)
            finally:
                await store.close()
        return
    if opened is None:
        await begin_store(world)
    served = running(
        workspace=world.workspace,
        places=world.places,
        flags=flags or Flags(),
        environment=os.environ,
        timing=timing,
        limits=limits,
        opened=opened,
        clock=clock,
        executor=executor,
        telemetry=telemetry,
        opener=opener,
    )
    async with (
        served as parts,
        connected(cell, server=lambda: parts.server, command_line=(), person=person, heard=heard, extensions=extensions) as client,
    ):
        store = world.store()
        try:
            yield Connected(client=client, store=store, parts=parts)
        finally:
            await store.close()


def _no_server() -> Server[Line]:
    raise NotImplementedError


def text_of(result: CallToolResult) -> str:
    """All text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
