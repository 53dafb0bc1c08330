"""Where a provider is reached and with which key: configuration and environment read, nothing sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcp_server.errors import ModelNotConfigured
from mcp_server.sessions.models.names import ProviderModel

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""Where a provider's key is looked for when the configuration names no place and no address."""

URL_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
}
"""Where a provider's address is looked for when the configuration names none."""

EXTRAS: Mapping[str, str] = {"anthropic": "extra `anthropic` of Remit", "google": "extra `google` of Remit"}
"""What brings a provider's library. For `PACKAGED` it is a package of its own, for every other provider the extra `openai`."""

PACKAGED = frozenset({"groq", "mistral"})
"""Providers whose library no extra of Remit brings."""

OLLAMA_URL = "http://localhost:11434/v1"
"""Where ollama listens unless it is told otherwise."""

LARGEST_KEY = 16_384
"""Bytes of a key file that are read; a larger file holds no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """How one provider is reached. Comes from the person's or the operator's settings, never from a workspace."""

    name: str
    """What stands before the `:` of a model string, lower case."""
    base_url: str | None = None
    """Another address than the provider's own. Under a name that is not known: any OpenAI-compatible interface.
    No key is sent there but one that `api_key_env` or `api_key_file` names."""
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    api_key_file: Path | None = None
    """A file that holds the key and nothing else; read at each turn, so that a changed key is used at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderLimits:
    """Bounds on one turn. Times in seconds."""

    tries: int = 3
    try_seconds: float = 300.0
    """One request, until its answer is read: long answers of slow models fit, a dead connection does not last."""
    turn_seconds: float = 900.0
    """All tries and pauses together: three full tries."""
    first_pause: float = 1.0
    """Doubles with each try, where the provider does not say how long to wait."""
    longest_pause: float = 60.0
    """A provider that asks for a longer wait has failed; the error says what it asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One provider as it is reached now."""

    provider: str
    model: str
    base_url: str | None
    """None: the provider's own."""
    key: str | None = field(repr=False)


def endpoint_of(name: ProviderModel, configs: Mapping[str, ProviderConfig], environment: Mapping[str, str]) -> Endpoint:
    """Where a turn goes, and with which key.

    Raises:
        ModelNotConfigured: The key is not there, or the address is none.
    """
    config = configs.get(name.provider, ProviderConfig(name=name.provider))
    base_url = config.base_url or _usual_url(name.provider, environment)
    if base_url is not None and not re.match(r"https?://[^/\s]", base_url):
        raise ModelNotConfigured(f"the `base_url` of provider `{name.provider}` must begin with `http://` or `https://`")
    key = _key(config, environment)
    variables = KEY_VARIABLES.get(name.provider, ())
    if key is None and base_url is None and variables:
        raise ModelNotConfigured(
            f"provider `{name.provider}` has no key: set the variable `{variables[0]}`, "
            "or say in your settings where the key is with `api_key_env` or `api_key_file`"
        )
    return Endpoint(provider=name.provider, model=name.model, base_url=base_url, key=key)


def library_missing(provider: str) -> ModelNotConfigured:
    """The error for a provider whose library is not installed."""
    brings = f"package `pydantic-ai-slim[{provider}]`" if provider in PACKAGED else EXTRAS.get(provider, "extra `openai` of Remit")
    return ModelNotConfigured(f"provider `{provider}` needs a library that is not installed: install the {brings}")


def _usual_url(provider: str, environment: Mapping[str, str]) -> str | None:
    found = environment.get(URL_VARIABLES[provider], "").strip() if provider in URL_VARIABLES else ""
    return found or (OLLAMA_URL if provider == "ollama" else None)


def _key(config: ProviderConfig, environment: Mapping[str, str]) -> str | None:
    if config.api_key_file is not None:
        return _read_key(config.name, config.api_key_file)
    if config.api_key_env is not None:
        key = environment.get(config.api_key_env, "").strip()
        if not key:
            raise ModelNotConfigured(f"the key of provider `{config.name}` is not there: set the variable `{config.api_key_env}`")
        return key
    if config.base_url is not None:
        return None
    found = (environment.get(variable, "").strip() for variable in KEY_VARIABLES.get(config.name, ()))
    return next((key for key in found if key), None)


def _read_key(provider: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST_KEY + 1)
        key = raw.decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not plain text"
        raise ModelNotConfigured(f"the key file `{file}` of provider `{provider}` cannot be read: {reason}") from None
    if not key or len(raw) > LARGEST_KEY or not key.isprintable() or " " in key:
        raise ModelNotConfigured(f"the key file `{file}` of provider `{provider}` must hold the key and nothing else")
    return key
