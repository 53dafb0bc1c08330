"""Serving what `app` wires: over standard input and output, over HTTP to this machine, or as a gateway."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio
import structlog

from mcp_server.app import STORE_FILE, Running, running
from mcp_server.gateway.http import serve_gateway
from mcp_server.gateway.lending import Lent
from mcp_server.gateway.listening import listen_for
from mcp_server.protocol.http import listen, serve_http
from mcp_server.protocol.stdio import serve_stdio
from mcp_server.redaction import secrets_of
from mcp_server.settings.places import Places, private_folder
from mcp_server.settings.values import Flags
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from mcp_server.telemetry.ending import NOBODY, Ending, Listeners

log = structlog.get_logger(__name__)

Again = Callable[[], AbstractAsyncContextManager[Store]]
"""Opens another handle on the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where HTTP is served."""

    host: str
    port: int


def serve_to(
    address: Address | None,
    *,
    workspace: Path,
    places: Places,
    flags: Flags,
    environment: Mapping[str, str],
    beside: Callable[[Store], Coroutine[None, None, None]] | None = None,
    told: Listeners = NOBODY,
) -> None:
    """Serve until the client or a signal ends it. `address` None: over standard input and output. `beside` runs on the same store
    as long as a server over HTTP does.
    """
    ending = Ending(told.flush)

    async def serving() -> None:
        async with (
            ending.last(),
            running(workspace=workspace, places=places, flags=flags, environment=environment, telemetry=told.telemetry) as parts,
        ):
            on_end = partial(ending.first, parts.end)
            again = partial(_again, private_folder(places.state) / STORE_FILE, secrets_of(environment))
            if address is None:
                await serve_stdio(parts.server, on_end=on_end)
                return
            async with anyio.create_task_group() as group:
                if beside is not None:
                    group.start_soon(_next_to, beside, again)
                await _served_at(address, parts, told, on_end, again, str(places.home))
                group.cancel_scope.cancel()

    anyio.run(serving)


async def _served_at(
    address: Address, parts: Running, told: Listeners, on_end: Callable[[], Coroutine[None, None, None]], again: Again, home: str
) -> None:
    if parts.gateway is None:
        await serve_http(parts.server, listen(address.host, address.port), on_end=on_end, on_ready=_tell)
        return
    sock = listen_for(parts.gateway, address.host, address.port)
    lent = Lent(
        store=parts.deployment.store,
        pages=None,
        home=home,
        reception=parts.reception,
        telemetry=told.telemetry,
        scrape=told.scrape,
        tools=tuple(spec.name for spec in parts.desk.specs()),
        part=parts.part,
        signs=parts.credentials.signs,
        servers=lambda: parts.books.own.edition.settings.upstreams,
        came=parts.credentials.subjects.came,
        notes=parts.books.complaints,
        reread=parts.books.reread,
    )
    serve = partial(serve_gateway, parts.server, parts.gateway, sock, on_end=on_end, on_ready=_tell)
    if "console" not in parts.deployment.ways.channels:
        await serve(lent)
        return
    async with again() as pages:
        await serve(replace(lent, pages=pages))


async def _next_to(beside: Callable[[Store], Coroutine[None, None, None]], again: Again) -> None:
    async with again() as store:
        await beside(store)


@asynccontextmanager
async def _again(file: Path, secrets: Sequence[str]) -> AsyncGenerator[Store]:
    """Another handle: what another handle commits is what wakes the server's runs."""
    store = open_store(file, secrets=secrets)
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


def _tell(url: str) -> None:
    log.info("serving", url=url)
