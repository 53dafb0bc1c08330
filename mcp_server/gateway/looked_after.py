"""A gateway's server with what stands beside it: whether it is ready, its numbers, and its end in order."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
from starlette.types import ASGIApp

from mcp_server.gateway.health import Health, Readiness
from mcp_server.gateway.issuers import Keys
from mcp_server.gateway.leaving import Leaving, orderly
from mcp_server.gateway.lending import Lent
from mcp_server.gateway.listening import config_of
from mcp_server.gateway.watching import watched
from mcp_server.protocol.http import Serves
from mcp_server.settings.gateway import Gateway


@asynccontextmanager
async def looked_after(gateway: Gateway, app: ASGIApp, issuers: Sequence[Keys], leaving: Leaving, lent: Lent) -> AsyncGenerator[Serves]:
    """The server of that application. `issuers`: whose keys readiness hangs on."""
    readiness = Readiness(leaving=leaving, store=lent.store, issuers=issuers, notes=lent.notes)
    async with anyio.create_task_group() as group, watched(gateway, readiness, lent.scrape, group):
        group.start_soon(leaving.run, lent.part)
        yield orderly(config_of(gateway, Health(app, readiness)), leaving)
        group.cancel_scope.cancel()
