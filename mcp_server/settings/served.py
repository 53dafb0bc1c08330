"""The folders of a gateway's workspaces, looked at when a server starts."""

from collections.abc import Mapping
from pathlib import Path

from mcp_server.errors import ConfigError, WorkspaceRefused
from mcp_server.settings.gateway import nested
from mcp_server.settings.origins import fault_at
from mcp_server.settings.places import Places
from mcp_server.settings.teams import DEFAULT_WORKSPACE
from mcp_server.settings.values import Settings
from mcp_server.settings.workspace import check_workspace, inside_another


def served_folders(settings: Settings, places: Places) -> dict[str, str]:
    """The real paths of the workspaces that settings name, by those names.

    Raises:
        ConfigError: One of them cannot be a workspace, or leads into another one, or into the server's own.
    """
    names: dict[str, str] = {}
    named: Mapping[str, str] = {} if settings.gateway is None else settings.gateway.workspaces
    for name, folder in named.items():
        try:
            names[name] = str(check_workspace(Path(folder), places))
        except WorkspaceRefused as error:
            fault = fault_at(settings.origins, f"gateway.workspaces.{name}", str(error), "name a folder that may be one")
            raise ConfigError((fault,)) from error
    every = {DEFAULT_WORKSPACE: settings.commons.workspace, **names}
    if faults := tuple(fault_at(settings.origins, *nested(*pair)) for pair in inside_another(every)):
        raise ConfigError(faults)
    return names
