"""What a model string says: a scripted file, or a provider and its model. Reads the string alone, no file and no setting."""

import re
from dataclasses import dataclass

from mcp_server.errors import ModelNotConfigured

SCRIPTED = "scripted:"
CLIENT = "client"
FORMS = "`provider:model` (for example `anthropic:claude-sonnet-5`), `scripted:<file>` or `client`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedModel:
    """Turns come from a file."""

    file: str
    """As written; relative ones are taken from the back end's base folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderModel:
    """Turns come from a provider."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsModel:
    """Turns come from the model of whichever client carries them."""

    hint: str | None
    """A model's name, or a part of one, that the client may go by."""


ModelName = ScriptedModel | ProviderModel | ClientsModel


def parse_model(text: str, agent: str) -> ModelName:
    """The parts of a model string. The first `:` or `/` ends the provider's name; what follows is the model's, as it stands.

    Raises:
        ModelNotConfigured: Nothing is set, or the string names no provider or no model.
    """
    text = text.strip()
    if not text:
        raise ModelNotConfigured(
            f"no model is set for agent `{agent}`: set `model` in your settings or in the agent's definition, as {FORMS}"
        )
    if text.startswith(SCRIPTED):
        file = text.removeprefix(SCRIPTED).strip()
        if not file:
            raise ModelNotConfigured(f"the model `{text}` of agent `{agent}` names no file: write `scripted:<file>`")
        return ScriptedModel(file=file)
    if is_client(text):
        return ClientsModel(hint=text.removeprefix(CLIENT).removeprefix(":").strip() or None)
    match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9_.-]*)[:/](\S+)", text)
    if match is None:
        raise ModelNotConfigured(f"`{text[:100]}` (model of agent `{agent}`) names no provider and model: write {FORMS}")
    return ProviderModel(provider=match[1].lower(), model=match[2])


def is_client(text: str) -> bool:
    """Does a model string name the client's own model?"""
    return text.strip() == CLIENT or text.strip().startswith(f"{CLIENT}:")


def option_prefix(provider: str) -> str:
    """How the names of options begin that are meant for one provider alone."""
    return f"{re.sub('[^a-z0-9]', '_', provider)}_"
