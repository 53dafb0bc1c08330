"""`remit demo`: the main job from end to end, on a sample workspace, with nothing of the person's own touched."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

import anyio
import click

from mcp_server.cli.demo.story import tell
from mcp_server.cli.terminal import NobodyThere, terminal


@click.command(short_help="Show agents at work under rules, on a sample.")
@click.option("--model", metavar="PROVIDER:NAME", help="A real model, its key taken from its usual variable.")
@click.option("--yes", is_flag=True, help="Answer the prompts by a script even where there is a terminal.")
def demo(model: str | None, yes: bool) -> None:
    """Show agents at work under rules: start a server, connect a client, delegate, be asked, and see who did what.

    Works in a temporary folder. Without --model a scripted model speaks; all the rest is real.
    """
    with tempfile.TemporaryDirectory(prefix="remit-demo-") as name:
        folder = Path(name).resolve()
        _lay_out(folder, model)
        environment = {**_own(folder), **_passed(os.environ, real=model is not None)}
        _tell(folder, environment, yes)


def _lay_out(folder: Path, model: str | None) -> None:
    with as_file(files("mcp_server.cli.demo") / "files") as sample:
        shutil.copytree(sample / "workspace", folder / "workspace")
        shutil.copytree(sample / "agents", folder / "config" / "agents")
        shutil.copy(sample / "script.yaml", folder / "config" / "script.yaml")
    chosen = model or f"scripted:{folder / 'config' / 'script.yaml'}"
    (folder / "config" / "settings.yaml").write_text(json.dumps({"model": chosen}), encoding="utf-8")


def _tell(folder: Path, environment: Mapping[str, str], yes: bool) -> None:
    command = (sys.executable, "-m", "mcp_server", "serve", "--workspace", str(folder / "workspace"), "--log-level", "error")
    if not yes:
        try:
            with terminal() as person:
                anyio.run(tell, command, environment, folder, person)
                return
        except NobodyThere:
            click.echo("There is no terminal to ask you on: a printed script answers.")
    anyio.run(tell, command, environment, folder, None)


def _own(folder: Path) -> dict[str, str]:
    """Folders of the demo's own: the person's settings, agents and store stay out of it."""
    places = {"REMIT_CONFIG_DIR": "config", "REMIT_STATE_DIR": "state", "REMIT_CACHE_DIR": "cache"}
    return {variable: str(folder / name) for variable, name in places.items()}


def _passed(environment: Mapping[str, str], *, real: bool) -> dict[str, str]:
    """What the server's process needs of ours: where programs are and, for a real model only, keys and addresses of providers."""
    provider = ("_API_KEY", "_BASE_URL") if real else ()
    return {name: value for name, value in environment.items() if name in ("PATH", "HOME", "LANG") or name.endswith(provider)}
