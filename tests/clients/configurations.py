"""The configurations that `client_examples` shows, made to start the server under test, and clients that declare what those do."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

from tests.cli.person import REMIT
from tests.cradle.commands import module

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "client_examples"

PROGRAM = "/path/to/remit-env/bin/remit"
PROJECTS = ("/path/to/project", "${workspaceFolder}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One client's configuration."""

    folder: str
    file: str
    key: str
    """Under which its servers stand."""
    asks: bool
    """It shows forms."""

    def entry(self) -> Mapping[str, Any]:
        """As it is shown."""
        return json.loads((EXAMPLES / self.folder / self.file).read_text("utf-8"))[self.key]["remit"]

    def server(self, project: Path, environment: Mapping[str, str], *more: str) -> StdioServerParameters:
        """The entry with real paths for those that it shows."""
        return self._started((REMIT, *self._words(project), *more), environment)

    def forked(self, project: Path, environment: Mapping[str, str], *more: str) -> StdioServerParameters:
        """The same server, by the cradle: for what is done with it, where another test shows that the entry starts it."""
        return self._started(module("mcp_server", *self._words(project), *more), environment)

    def _words(self, project: Path) -> list[str]:
        entry = self.entry()
        assert entry["command"] == PROGRAM
        return [str(project) if word in PROJECTS else word for word in entry["args"]]

    def _started(self, line: Sequence[str], environment: Mapping[str, str]) -> StdioServerParameters:
        return StdioServerParameters(command=line[0], args=list(line[1:]), env={**environment, "PATH": os.environ["PATH"]}, cwd=ROOT)


EVERY = (
    Example(folder="claude_desktop", file="claude_desktop_config.json", key="mcpServers", asks=False),
    Example(folder="claude_code", file="mcp.json", key="mcpServers", asks=True),
    Example(folder="vscode", file="mcp.json", key="servers", asks=True),
    Example(folder="cursor", file="mcp.json", key="mcpServers", asks=True),
    Example(folder="zed", file="settings.json", key="context_servers", asks=False),
)
