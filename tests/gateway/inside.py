"""A whole gateway in this process, on a real port, with clocks that the test holds."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn

from mcp_server.app import Running, running
from mcp_server.gateway.application import IDLE_SECONDS, gateway_app
from mcp_server.gateway.authority import Authority
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.keys import KeyHolders, digest_of, new_key
from mcp_server.gateway.leaving import Leaving
from mcp_server.gateway.patience import patient
from mcp_server.protocol.http import listen
from mcp_server.protocol.timing import Timing
from mcp_server.protocol.upstream.servers import Opener
from mcp_server.settings.values import Flags
from mcp_server.store.api_keys import ApiKey
from mcp_server.store.protocol import Store
from mcp_server.telemetry.base import SILENT, Telemetry
from tests.behaviour.gated import manage
from tests.behaviour.world import World, begin_store


async def key_in(store: Store, name: str) -> str:
    """A new API key; its id is `key_` and the name."""
    key = new_key()
    await store.add_api_key(ApiKey(id=f"key_{name}", name=name, scopes=(), created_at=time.time(), expires_at=None), digest_of(key))
    return key


@dataclass(slots=True, kw_only=True)
class Inside:
    """A gateway that listens."""

    world: World
    url: str
    parts: Running
    ahead: list[float] = field(default_factory=lambda: [0.0])
    """Seconds by which the gateway's clocks are ahead."""

    @property
    def sessions(self) -> int:
        """Connections of 2025-11-25 that are open."""
        return len(self.parts.server.session_manager._server_instances)  # pyright: ignore[reportPrivateUsage] - there is no other count of them

    @property
    def tasks(self) -> int:
        """All that are under way in this loop."""
        return len(asyncio.all_tasks())

    @property
    def store(self) -> Store:
        return self.parts.deployment.store

    async def key(self, name: str = "nightly") -> str:
        """A new API key."""
        return await key_in(self.store, name)


@asynccontextmanager
async def inside(
    world: World,
    gateway: Mapping[str, Any],
    *,
    look: float = 0.05,
    idle: float = IDLE_SECONDS,
    timing: Timing | None = None,
    telemetry: Telemetry = SILENT,
    opener: Opener | None = None,
    **managed: Any,
) -> AsyncGenerator[Inside]:
    """From when it listens until it has ended. `look`: seconds between two looks whether an open stream's token still counts; `idle`:
    until a connection of which nothing is heard is ended.
    """
    with listen("127.0.0.1", 0) as sock:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        manage(world, gateway={"url": url, **gateway}, **managed)
        await begin_store(world)
        fetcher, ahead = Fetcher(), [0.0]
        served = running(
            workspace=world.workspace,
            places=world.places,
            flags=Flags(),
            environment=os.environ,
            timing=timing,
            clock=lambda: time.time() + ahead[0],
            telemetry=telemetry,
            opener=opener,
        )
        async with served as parts:
            assert parts.gateway is not None
            keys = KeyHolders(parts.deployment.store, lambda: time.time() + ahead[0], parts.gateway.scopes.required)
            authority = Authority(
                parts.gateway, fetcher, keys, steady=lambda: time.monotonic() + ahead[0], clock=lambda: time.time() + ahead[0]
            )
            config = uvicorn.Config(
                gateway_app(
                    parts.server,
                    parts.gateway,
                    authority,
                    parts.reception,
                    leaving=Leaving(0),
                    telemetry=telemetry,
                    tools=[],
                    came=parts.credentials.subjects.came,
                    look=look,
                    idle=idle,
                ),
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                http=patient(parts.gateway.limits.request_seconds),
                h11_max_incomplete_event_size=parts.gateway.limits.header_bytes,
                limit_concurrency=parts.gateway.limits.connections,
                timeout_graceful_shutdown=1,
            )
            server = uvicorn.Server(config)
            async with anyio.create_task_group() as group:
                group.start_soon(server.serve, [sock])
                try:
                    yield Inside(world=world, url=url, parts=parts, ahead=ahead)
                finally:
                    server.should_exit = True
        await fetcher.close()
