"""The folders that Remit reads and writes outside a workspace.

`REMIT_CONFIG_DIR`, `REMIT_STATE_DIR` and `REMIT_CACHE_DIR` move the person's own folders. Nothing in the environment moves
the managed folder: it is the operator's, and whoever starts the server must not be able to leave its rules behind.
Tests pass another one as an argument.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import site_config_dir, user_cache_dir, user_config_dir, user_state_dir

from mcp_server.errors import ConfigError, Fault

ROOT = 0
"""The user id that must own managed files: they may allow, so nobody else may write them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Absolute folders. None of them need exist."""

    home: Path
    config: Path
    """The person's: `settings.yaml` and `agents/`."""
    state: Path
    """The person's: store, trust, keys. Made 0700 by whoever writes first; see `private_folder`."""
    cache: Path
    managed: Path
    """The operator's: `settings.yaml` and `settings.d/*.yaml`."""
    managed_owner: int = ROOT
    """POSIX user id that must own managed files and folders."""


def find_places(environment: Mapping[str, str]) -> Places:
    """The folders of this user on this machine.

    Raises:
        ConfigError: A folder named by the environment is not absolute.
    """
    faults: list[Fault] = []

    def folder(variable: str, usual: str) -> Path:
        named = environment.get(variable, "")
        if named and not os.path.isabs(named):
            faults.append(Fault(file=variable, line=None, problem=f"`{named}` is not an absolute path", remedy="write the whole path"))
        return Path(named or usual)

    places = Places(
        home=Path.home(),
        config=folder("REMIT_CONFIG_DIR", user_config_dir("remit", appauthor=False)),
        state=folder("REMIT_STATE_DIR", user_state_dir("remit", appauthor=False)),
        cache=folder("REMIT_CACHE_DIR", user_cache_dir("remit", appauthor=False)),
        managed=managed_folder(),
    )
    if faults:
        raise ConfigError(tuple(faults))
    return places


def managed_folder() -> Path:
    """`/etc/remit`, on Windows `%ProgramData%/remit` (not run on Windows yet)."""
    if sys.platform == "win32":
        return Path(site_config_dir("remit", appauthor=False))
    return Path("/etc/remit")


def private_folder(folder: Path) -> Path:
    """Make a folder that only this user may enter, with what is missing above it. Returns it.

    Raises:
        OSError: It cannot be made or closed to others.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder
