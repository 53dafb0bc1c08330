"""Folders for one test: an empty machine with a home, a configuration folder, a state folder, a managed folder and a workspace."""

import os
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.folder import read_folder
from mcp_server.settings.load import load_settings
from mcp_server.settings.places import Places
from mcp_server.settings.trust import give_trust
from mcp_server.settings.values import Flags, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    places: Places
    workspace: Path

    @property
    def user_file(self) -> Path:
        return self.places.config / "settings.yaml"

    @property
    def managed_file(self) -> Path:
        return self.places.managed / "settings.yaml"

    @property
    def project_file(self) -> Path:
        return self.workspace / ".remit" / "settings.yaml"

    @property
    def local_file(self) -> Path:
        return self.workspace / ".remit" / "settings.local.yaml"

    def trust(self) -> None:
        give_trust(self.workspace, read_folder(self.workspace), self.places.state)

    def load(self, flags: Flags | None = None) -> Settings:
        return load_settings(workspace=self.workspace, places=self.places, flags=flags or Flags())

    def faults(self, flags: Flags | None = None) -> tuple[Fault, ...]:
        """What loading refuses; empty where it does not."""
        try:
            self.load(flags)
        except ConfigError as error:
            return error.faults
        return ()


def lay(root: Path) -> Ground:
    """Make the folders under `root`. Managed files are to belong to whoever runs the test."""
    root = root.resolve()
    owner = os.geteuid() if hasattr(os, "geteuid") else 0
    places = Places(
        home=root / "home", config=root / "config", state=root / "state", cache=root / "cache", managed=root / "etc", managed_owner=owner
    )
    workspace = root / "home" / "project"
    for folder in (places.config, places.managed / "settings.d", workspace / ".remit"):
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    places.managed.chmod(0o755)
    return Ground(places=places, workspace=workspace)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return path
