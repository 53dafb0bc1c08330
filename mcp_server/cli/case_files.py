"""The real files that a case names, loaded as the server would load them, and nothing else of this machine.

The machine's managed settings and the person's own are left out: a case must come out alike everywhere. A workspace that is
named counts as trusted.
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mcp_server.agents.load import load_agents
from mcp_server.cli.cases.running import LoadedPolicy
from mcp_server.cli.cases.written import PolicyFiles
from mcp_server.cli.members import Cast
from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.folder import read_folder
from mcp_server.settings.load import load_settings
from mcp_server.settings.places import Places
from mcp_server.settings.trust import give_trust


class RealFiles:
    """Loads what cases name. Lives as long as the stack that it is given."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._names: dict[str, str] = {}

    def load(self, files: PolicyFiles, beside: Path) -> LoadedPolicy:
        """The policy of one case, paths taken from the case file's folder.

        Raises:
            ConfigError: A file is absent or at fault.
        """
        stand_in = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="remit-cases-"))).resolve()
        config = stand_in / "config"
        config.mkdir()
        workspace = self._named(beside, files.workspace, Path.is_dir, "a folder") or stand_in / "workspace"
        workspace.mkdir(exist_ok=True)
        self._stand_in(config / "settings.yaml", self._named(beside, files.settings, Path.is_file, "a file"))
        self._stand_in(config / "agents", self._named(beside, files.agents, Path.is_dir, "a folder"))
        places = Places(home=Path.home(), config=config, state=stand_in / "state", cache=stand_in / "cache", managed=stand_in / "managed")
        try:
            give_trust(workspace, read_folder(workspace), places.state)
            settings = load_settings(workspace=workspace, places=places)
            cast = Cast(settings=settings, agents=load_agents(places=places, settings=settings))
        except ConfigError as error:
            raise ConfigError(tuple(replace(fault, file=self.named_as_written(fault.file)) for fault in error.faults)) from error

        return LoadedPolicy(commons=settings.commons, members=cast.member)

    def named_as_written(self, text: str) -> str:
        """The text with the real files' names in it, where they were read under others."""
        for stand_in, real in self._names.items():
            text = text.replace(stand_in, real)
        return text

    def _stand_in(self, place: Path, real: Path | None) -> None:
        if real is not None:
            place.symlink_to(real)
            self._names[str(place)] = str(real)

    def _named(self, beside: Path, name: str | None, fits: Callable[[Path], bool], kind: str) -> Path | None:
        if name is None:
            return None
        path = (beside / name).resolve()
        if not fits(path):
            fault = Fault(file=str(path), line=None, problem=f"is not {kind}", remedy="mend the path under `policy` in the case")
            raise ConfigError((fault,))
        return path
