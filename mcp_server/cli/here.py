"""The workspace that a command is about, and the settings that hold there."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from mcp_server.settings.load import load_settings
from mcp_server.settings.places import Places, find_places
from mcp_server.settings.upstream import Upstream
from mcp_server.settings.values import Flags, Settings
from mcp_server.settings.workspace import check_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """One workspace as it is configured now."""

    workspace: Path
    places: Places
    settings: Settings


def here(workspace: Path, flags: Flags | None = None, environment: Mapping[str, str] = os.environ) -> Here:
    """Read everything that settings say of the folder.

    Raises:
        ConfigError: With every fault.
        WorkspaceRefused: It may not be a workspace.
    """
    places = find_places(environment)
    real = check_workspace(workspace, places)
    return Here(workspace=real, places=places, settings=load_settings(workspace=real, places=places, flags=flags or Flags()))


def servers_here() -> Mapping[str, Upstream]:
    """The other MCP servers. Raises as `here`."""
    return here(Path.cwd()).settings.upstreams


workspace_option = click.option(
    "--workspace",
    default=".",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The workspace.  [current folder]",
)
"""The option that says which."""
