"""A server as a process of its own that leaves its number, so that a test can kill it, and whose leases lapse within a test's time.

`python -m tests.behaviour.server_process FOLDER [SOCKET]`, FOLDER being that of a `World`. With the number of a listening socket that it
inherits it serves HTTP there.
"""

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import anyio

from mcp_server.app import running
from mcp_server.cli.logs import log_to
from mcp_server.protocol.http import serve_http
from mcp_server.protocol.stdio import serve_stdio
from mcp_server.sessions.deployment import Limits
from mcp_server.settings.values import Flags
from tests.behaviour.world import World

LEASE = 2.5
"""Seconds. More than a busy machine holds a process up between two steps, for then it would not begin what it was about to do; far less
than a test may take.
"""


def short_leases(limits: Limits) -> Limits:
    return replace(limits, lease_seconds=LEASE)


def pid_file(world: World) -> Path:
    return world.folder / "server.pid"


def ready_file(world: World) -> Path:
    """There once an HTTP server listens."""
    return world.folder / "server.ready"


async def serve(world: World, handle: int | None) -> None:
    def ready(url: str) -> None:
        ready_file(world).write_text(url)

    async with running(workspace=world.workspace, places=world.places, flags=Flags(), environment=os.environ, limits=short_leases) as parts:
        pid_file(world).write_text(str(os.getpid()))
        if handle is None:
            await serve_stdio(parts.server, on_end=parts.end)
        else:
            await serve_http(parts.server, socket.socket(fileno=handle), on_end=parts.end, on_ready=ready)


if __name__ == "__main__":
    log_to(sys.stderr, "warning", os.environ)
    anyio.run(serve, World(folder=Path(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else None)
