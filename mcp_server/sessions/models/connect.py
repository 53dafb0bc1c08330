"""From an endpoint to pydantic-ai's model for it. Blocking: it loads the provider's library and reads certificates."""

from collections.abc import Callable
from typing import Any, cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from mcp_server.errors import ModelNotConfigured
from mcp_server.sessions.models.endpoints import Endpoint, library_missing
from mcp_server.sessions.models.scrub import scrubbed

OWN_INTERFACE = frozenset({"anthropic", "google", "groq", "mistral", "ollama", "openai-responses"})
"""Providers that keep their own interface at another address. Every other name is spoken to in OpenAI's chat form there."""

NO_KEY = "no-key"
"""Sent where an address of its own needs no key: the libraries insist on having one, and would look for another provider's."""


def model_for(endpoint: Endpoint, secrets: tuple[str, ...]) -> Model:
    """The model, with an HTTP client of its own that is closed when the model is left (`async with`).

    Raises:
        ModelNotConfigured: The provider is not known, its library is missing, or it cannot be set up.
    """
    provider = endpoint.provider
    try:
        if endpoint.base_url is not None and provider not in OWN_INTERFACE:
            return _openai_compatible(endpoint, endpoint.base_url)
        return infer_model(f"{provider}:{endpoint.model}", provider_factory=lambda name: _provider(name, endpoint))
    except ImportError:
        raise library_missing(provider) from None
    except (UserError, ValueError, TypeError) as error:
        raise ModelNotConfigured(f"provider `{provider}` cannot be used as it is configured: {scrubbed(str(error), secrets)}") from None


def _provider(name: str, endpoint: Endpoint) -> Provider[Any]:
    try:
        made = cast(Callable[..., Provider[Any]], infer_provider_class(name))
    except ValueError:
        raise UserError("the name is not known; give it a `base_url` that speaks OpenAI's chat interface") from None
    arguments: dict[str, str] = {}
    if endpoint.base_url is not None:
        arguments = {"base_url": endpoint.base_url, "api_key": endpoint.key or NO_KEY}
    elif endpoint.key is not None:
        arguments = {"api_key": endpoint.key}
    return made(**arguments)


def _openai_compatible(endpoint: Endpoint, base_url: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - needs the extra `openai`
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - likewise

    provider = OpenAICompatibleProvider(endpoint.provider, base_url=base_url, api_key=endpoint.key or NO_KEY)
    return OpenAIChatModel(endpoint.model, provider=provider)
