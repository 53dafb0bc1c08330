"""A gateway's server with what stands beside it: whether it is ready, its numbers, and its end in order."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
from starlette.types import ASGIApp

from mcp_server.gateway.hangup import on_hangup
from mcp_server.gateway.health import Health, Readiness
from mcp_server.gateway.issuers import Keys
from mcp_server.gateway.leaving import Leaving, orderly
from mcp_server.gateway.lending import Lent
from mcp_server.gateway.listening import config_of
from mcp_server.gateway.renewing import renewing_of
from mcp_server.gateway.watching import watched
from mcp_server.protocol.http import Serves
from mcp_server.settings.gateway import Gateway


@asynccontextmanager
async def looked_after(gateway: Gateway, app: ASGIApp, issuers: Sequence[Keys], leaving: Leaving, lent: Lent) -> AsyncGenerator[Serves]:
    """The server of that application. `issuers`: whose keys readiness hangs on. Raises `ConfigError` where the certificate is of no use."""
    renewing = None if gateway.tls is None else renewing_of(gateway.tls)

    def notes() -> tuple[str, ...]:
        return (*lent.notes(), *(() if renewing is None else renewing.faults))

    readiness = Readiness(leaving=leaving, store=lent.store, issuers=issuers, notes=notes)
    async with anyio.create_task_group() as group, watched(gateway, readiness, lent.scrape, group):
        group.start_soon(leaving.run, lent.part)
        group.start_soon(on_hangup, [lent.reread, *([] if renewing is None else [renewing.look])])
        if renewing is not None:
            group.start_soon(renewing.run)
        yield orderly(config_of(gateway, Health(app, readiness), None if renewing is None else renewing.context), leaving)
        group.cancel_scope.cancel()
