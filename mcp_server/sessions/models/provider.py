"""Turns from a provider, over the network. Below it are the modules that know the library which speaks to providers
(`direct` and what that imports); they are loaded when the first turn is asked for, and nothing else imports them.
"""

import importlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import anyio
import anyio.to_thread

from mcp_server.records import ModelTurn
from mcp_server.redaction import secrets_of
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.endpoints import Endpoint, ProviderConfig, ProviderLimits, endpoint_of, library_missing
from mcp_server.sessions.models.names import ProviderModel

DIRECT = "mcp_server.sessions.models.direct"
"""Loaded by name when the first turn is asked for: pydantic-ai takes 0.6 s and more to load, and is an extra."""


class DirectTurn(Protocol):
    """What `direct.turn` promises."""

    async def __call__(
        self,
        request: TurnRequest,
        endpoint: Endpoint,
        *,
        limits: ProviderLimits,
        secrets: tuple[str, ...],
        pause: Callable[[float], Awaitable[None]],
    ) -> ModelTurn: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderBackend:
    """Gives the turns of every model string that names a provider."""

    providers: Mapping[str, ProviderConfig] = field(default_factory=dict[str, ProviderConfig])
    """By name. A provider that is not listed is reached at its own address, its key taken from its usual variable."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    limits: ProviderLimits = field(default_factory=ProviderLimits)
    pause: Callable[[float], Awaitable[None]] = anyio.sleep
    """Waits so many seconds between two tries."""

    async def turn(self, request: TurnRequest, name: ProviderModel) -> ModelTurn:
        """As `ModelBackend.turn`, the model string taken apart already."""
        endpoint = self.endpoint(name)
        try:
            direct_turn = await anyio.to_thread.run_sync(_load)
        except ImportError:
            raise library_missing(name.provider) from None
        secrets = secrets_of(self.environment, endpoint.key)
        return await direct_turn(request, endpoint, limits=self.limits, secrets=secrets, pause=self.pause)

    def endpoint(self, name: ProviderModel) -> Endpoint:
        """Where the turn goes.

        Raises:
            ModelNotConfigured: Its key is not there, or its address is none.
        """
        return endpoint_of(name, self.providers, self.environment)


def _load() -> DirectTurn:
    return cast(DirectTurn, importlib.import_module(DIRECT).turn)
