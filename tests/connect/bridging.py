"""The real client over standard input and output, the real `remit connect`, and a real Remit over HTTP behind it."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp.client.client import Client
from mcp.client.extension import ClientExtension
from mcp.client.session import MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp_server.app import Running, running
from mcp_server.protocol.timing import Timing
from mcp_server.settings.values import Flags
from tests.behaviour.world import Connected, World
from tests.bounds import LONG
from tests.cradle.commands import module
from tests.protocol.connect import ROOT, Era, Person, served_http


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A person's machine: its folder of state, and what the bridges there say on standard error."""

    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "desk-state"

    @property
    def said(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("desk-*.err")))

    @property
    def pages(self) -> list[str]:
        """Addresses that the person was told to open."""
        return [line.split("open this page: ")[1].split()[0] for line in self.said.splitlines() if "open this page: " in line]

    def command(self, url: str, *words: str, **variables: str) -> StdioServerParameters:
        """Starts a bridge on it. It has no browser unless a variable names one."""
        kept = {name: value for name, value in os.environ.items() if name not in ("BROWSER", "DISPLAY", "REMIT_KEY")}
        own = {"HOME": str(self.folder / "desk-home"), "REMIT_STATE_DIR": str(self.state), "BROWSER": "false", **variables}
        program, *rest = module("mcp_server", "connect", url, *words)
        return StdioServerParameters(command=program, args=rest, env={**kept, **own}, cwd=ROOT)


@asynccontextmanager
async def desk_client(
    desk: Desk,
    url: str,
    era: Era,
    *words: str,
    person: Person | None = None,
    heard: MessageHandlerFnT | None = None,
    extensions: Sequence[ClientExtension] = (),
    **variables: str,
) -> AsyncGenerator[Client]:
    """A client of that era, whose server is a bridge to the address."""
    number = len(list(desk.folder.glob("desk-*.err")))
    with (desk.folder / f"desk-{number}.err").open("w") as errors:
        client = Client(
            stdio_client(desk.command(url, *words, **variables), errlog=errors),
            mode="legacy" if era == "2025-11-25" else "auto",
            elicitation_callback=person,
            message_handler=heard,
            extensions=extensions,
            read_timeout_seconds=2 * LONG,
        )
        async with client:
            assert client.protocol_version == era, "the client fell back to another era"
            yield client


@asynccontextmanager
async def serving(world: World, timing: Timing | None = None) -> AsyncGenerator[tuple[str, Running]]:
    """A Remit over HTTP in this process."""
    served = running(workspace=world.workspace, places=world.places, flags=Flags(), environment=os.environ, timing=timing)
    async with served as parts, served_http(parts.server) as url:
        yield url, parts


@asynccontextmanager
async def bridged(
    world: World,
    era: Era,
    *,
    person: Person | None = None,
    heard: MessageHandlerFnT | None = None,
    extensions: Sequence[ClientExtension] = (),
    timing: Timing | None = None,
) -> AsyncGenerator[Connected]:
    """A client of a Remit, with a bridge between."""
    desk = Desk(folder=world.folder)
    async with (
        serving(world, timing) as (url, parts),
        desk_client(desk, url, era, person=person, heard=heard, extensions=extensions) as client,
    ):
        store = world.store()
        try:
            yield Connected(client=client, store=store, parts=parts)
        finally:
            await store.close()
