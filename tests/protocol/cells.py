"""A client of the scripted server in any cell."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.client.client import Client

from tests.cradle.commands import module
from tests.protocol.connect import Cell, Person, connected
from tests.protocol.scripted_front import scripted_front
from tests.protocol.scripted_server import scripted_server
from tests.protocol.scripts import tools


@asynccontextmanager
async def playing(
    cell: Cell, person: Person | None = None, *, patience: float = 10.0, stride: float = 0.0, progress_every: float = 5.0
) -> AsyncGenerator[Client]:
    """A connected client. `stride`: by how many seconds the server's clock moves each time it is read."""
    async with scripted_front(tools()) as front:
        process = module("tests.protocol.scripted_server", str(patience), str(stride))
        async with connected(
            cell,
            server=lambda: scripted_server(front, patience=patience, stride=stride, progress_every=progress_every),
            command_line=process,
            person=person,
        ) as client:
            yield client
