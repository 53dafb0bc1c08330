"""A gateway served by a process of its own, as `remit serve --http` does, with managed settings of the test's.

`python -m tests.behaviour.gated FOLDER PORT`, FOLDER being that of a `World`. Nothing in the environment moves the managed folder, so
the command itself cannot be given one.
"""

import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import anyio
import httpx2
from anyio.abc import Process
from mcp.client.client import Client
from mcp.client.extension import ClientExtension
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client

from mcp_server.cli.logs import log_to
from mcp_server.cli.telling import telling
from mcp_server.serving import Address, serve_to
from mcp_server.settings.load import load_settings
from mcp_server.settings.values import Flags
from tests.behaviour.world import LOOK, World
from tests.bounds import LONG
from tests.cradle.commands import module
from tests.ports import held_port
from tests.protocol.connect import ROOT, Era, Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """A gateway that listens."""

    world: World
    url: str
    """The address that clients are given."""
    address: str
    """Where it listens: the same, where there is no proxy in front."""
    log: Path
    """Everything that the process wrote on standard error."""
    process: Process

    def lines(self, event: str) -> list[dict[str, Any]]:
        """What it logged under that name so far."""
        read = (json.loads(line) for line in self.log.read_text().splitlines() if line.startswith('{"'))
        return [line for line in read if line.get("event") == event]

    async def logged(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until it was logged so often."""
        with anyio.fail_after(LONG):
            while len(found := self.lines(event)) < count:  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(LOOK)
        return found


def manage(world: World, **said: Any) -> None:
    """Write managed settings."""
    world.places.managed.mkdir(exist_ok=True)
    world.places.managed.chmod(0o755)
    file = world.places.managed / "settings.yaml"
    file.write_text(json.dumps(said, indent=1))
    file.chmod(0o644)


def _said(log: Path) -> bytes:
    return log.read_bytes()


@asynccontextmanager
async def gated(world: World, gateway: Mapping[str, Any], *, port: int | None = None, **managed: Any) -> AsyncGenerator[Gated]:
    """The process, from when it listens until it has ended. `port`: one that the test holds, for gateways that follow each other."""
    log = world.folder / "gateway.log"
    with held_port() if port is None else nullcontext(port) as own, log.open("ab") as errors:
        served = await _serving(world, gateway, managed, own, log, errors)
        async with served.process as process:
            try:
                yield served
            finally:
                if process.returncode is None:
                    process.terminate()
                with anyio.fail_after(LONG, shield=True):
                    await process.wait()


async def _serving(world: World, gateway: Mapping[str, Any], managed: Mapping[str, Any], port: int, log: Path, errors: IO[bytes]) -> Gated:
    """Once it listens."""
    address = f"http://127.0.0.1:{port}/mcp"
    url = str(gateway.get("url", address))
    manage(world, gateway={**gateway, "url": url}, **managed)
    before = len(_said(log))
    command = module("tests.behaviour.gated", str(world.folder), str(port))
    process = await anyio.open_process(command, cwd=ROOT, stdout=errors, stderr=errors)
    try:
        with anyio.fail_after(3 * LONG):
            while b'"serving"' not in _said(log)[before:]:
                assert process.returncode is None, _said(log).decode()
                await anyio.sleep(LOOK)
    except BaseException:
        with suppress(ProcessLookupError):
            process.terminate()
        with anyio.CancelScope(shield=True):
            await process.aclose()
        raise
    return Gated(world=world, url=url, address=address, log=log, process=process)


@asynccontextmanager
async def visiting(
    url: str,
    token: str,
    era: Era,
    person: Person | None = None,
    heard: MessageHandlerFnT | None = None,
    extensions: Sequence[ClientExtension] = (),
) -> AsyncGenerator[Client]:
    """The real client, sending that token with each request."""
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=2 * LONG) as wire:
        transport = streamable_http_client(url, http_client=wire)
        mode = "legacy" if era == "2025-11-25" else "auto"
        client = Client(
            transport, mode=mode, elicitation_callback=person, message_handler=heard, extensions=extensions, read_timeout_seconds=2 * LONG
        )
        async with client:
            assert client.protocol_version == era
            yield client


if __name__ == "__main__":
    served = World(folder=Path(sys.argv[1]))
    log_to(sys.stderr, "debug", os.environ)
    settings = load_settings(workspace=served.workspace, places=served.places)
    serve_to(
        Address(host="127.0.0.1", port=int(sys.argv[2])),
        workspace=served.workspace,
        places=served.places,
        flags=Flags(),
        environment=os.environ,
        told=telling(os.environ, settings),
    )
