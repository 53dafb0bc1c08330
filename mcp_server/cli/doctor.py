"""`remit doctor`: is everything in place, and if not, what to do. Changes nothing; sends nothing but with `--models`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from mcp_server.agents.load import load_agents
from mcp_server.app import backend_of
from mcp_server.cli.checks.unanswered import unanswered
from mcp_server.cli.doctor_machine import machine, sandbox
from mcp_server.cli.doctor_models import call_models, models_wanted
from mcp_server.cli.doctor_notices import notices
from mcp_server.cli.doctor_state import state_folder
from mcp_server.cli.finding import Finding, findings_of, tell
from mcp_server.cli.here import Here, here, workspace_option
from mcp_server.errors import ConfigError, ModelError, RemitError
from mcp_server.settings.places import find_places
from mcp_server.settings.trust import Trust


@click.command(short_help="Say what is still missing, and how to mend it.")
@workspace_option
@click.option("--models", "models", is_flag=True, help="Also send each model one short call. It may cost a fraction of a cent.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def doctor(workspace: Path, models: bool, as_json: bool) -> None:
    """Look at the machine, the settings, the agents, the store and the models; say what to mend and how.

    Ends with 1 where something must be mended before Remit works.
    """
    tell(_findings(workspace, models), as_json=as_json)


def _findings(workspace: Path, models: bool) -> Iterator[Finding]:
    yield from machine()
    yield from state_folder(find_places(os.environ).state)
    try:
        place = here(workspace)
    except ConfigError as error:
        yield from findings_of("settings", error.faults)
        return
    except RemitError as error:
        yield Finding(about="workspace", state="fault", says=str(error))
        return
    yield from _settings(place)
    yield from _search(place)
    yield from notices(place.settings)
    yield from sandbox(place)
    yield from _agents_and_models(place, models)


def _settings(place: Here) -> Iterator[Finding]:
    settings = place.settings
    read = ", ".join(source.file for source in settings.sources) or "none, the defaults hold"
    yield Finding(about="settings", state="ok", says=read)
    yield from findings_of("settings", settings.notices, "note")
    yield from unanswered(settings)
    trusted = settings.trust is Trust.TRUSTED
    if trusted or settings.folder.files:
        yield Finding(
            about="workspace",
            state="ok" if trusted else "note",
            says=f"{place.workspace} is {'trusted' if trusted else 'not trusted'}",
            remedy="" if trusted else f"remit trust '{place.workspace}'",
        )
    else:
        yield Finding(about="workspace", state="ok", says=str(place.workspace))


def _search(place: Here) -> Iterator[Finding]:
    said = place.settings.websearch
    if said is None:
        return
    if said.api_key_env and not os.environ.get(said.api_key_env):
        problem = (
            f"{said.provider}: the variable `{said.api_key_env}`, which its key is to come from, is not set: `websearch` is not offered"
        )
        yield Finding(about="websearch", state="fault", says=problem, remedy="set it where the server starts, or take `websearch` out")
    else:
        yield Finding(about="websearch", state="ok", says=f"{said.provider} at {said.base_url or 'its own address'}")


def _agents_and_models(place: Here, call: bool) -> Iterator[Finding]:
    try:
        agents = load_agents(places=place.places, settings=place.settings)
    except ConfigError as error:
        yield from findings_of("agents", error.faults)
        return
    yield Finding(about="agents", state="ok", says=", ".join(sorted(agents)))
    yield from findings_of("agents", agents.notices, "note")
    wanted = models_wanted(place, agents)
    check = backend_of(place.settings, place.workspace, os.environ).check
    sound: list[str] = []
    for model, names in wanted.items():
        finding = _model(model, ", ".join(names), check, place.places.config / "settings.yaml")
        yield finding
        sound += [model] if model is not None and finding.state == "ok" else []
    if call:
        yield from call_models(place, sound)


def _model(model: str | None, names: str, check: Callable[[str, str], None], written: Path) -> Finding:
    if model is None:
        return Finding(
            about="model",
            state="note",
            says=f"none is set for {names}: tools work, `task` cannot start them",
            remedy=f"write `model: provider:model` into {written}, and put the provider's key into the environment of the server",
        )
    try:
        check(model, names)
    except ModelError as error:
        return Finding(about="model", state="fault", says=f"{model}: {error}")
    return Finding(about="model", state="ok", says=f"{model} for {names}")
