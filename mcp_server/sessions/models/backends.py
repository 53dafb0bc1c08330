"""The one `ModelBackend` of a process: looks at the model string and passes the turn on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import assert_never

from mcp_server.errors import ModelNotConfigured
from mcp_server.records import ModelTurn
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.client import ClientModel
from mcp_server.sessions.models.endpoints import library_missing
from mcp_server.sessions.models.names import ClientsModel, ProviderModel, ScriptedModel, parse_model
from mcp_server.sessions.models.provider import ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend

LIBRARIES: Mapping[str, str] = {"anthropic": "anthropic", "google": "google.genai", "groq": "groq", "mistral": "mistralai"}
"""The library a provider's turns need beside pydantic-ai; every other one needs `openai`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backends:
    """Gives every turn of a process."""

    scripted: ScriptedBackend
    provider: ProviderBackend
    client: ClientModel = field(default_factory=ClientModel)

    async def turn(self, request: TurnRequest) -> ModelTurn:
        """As `ModelBackend.turn`."""
        name = parse_model(request.model, request.agent)
        match name:
            case ScriptedModel():
                return await self.scripted.turn(request, name)
            case ProviderModel():
                return await self.provider.turn(request, name)
            case ClientsModel():
                return await self.client.turn(request, name)
            case _:
                assert_never(name)

    def check(self, model: str, agent: str) -> None:
        """Could a turn be asked for? Looks at configuration, files and what is installed; sends nothing, loads nothing.

        Raises:
            ModelNotConfigured: Says what to set.
        """
        name = parse_model(model, agent)
        match name:
            case ScriptedModel():
                path = self.scripted.path(name)
                if not path.is_file():
                    raise ModelNotConfigured(f"the script `{path}` (model of agent `{agent}`) is not there")
            case ProviderModel():
                self.provider.endpoint(name)
                _installed(name.provider)
            case ClientsModel():
                self.client.check(agent)
            case _:
                assert_never(name)


def _installed(provider: str) -> None:
    library = LIBRARIES.get(provider, "openai")
    try:
        found = find_spec("pydantic_ai") is not None and find_spec(library) is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise library_missing(provider)
