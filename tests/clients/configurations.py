"""The configurations that `client_examples` shows, made to start the server under test, and clients that declare what those do."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

from tests.cli.person import REMIT

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
        entry = self.entry()
        assert entry["command"] == PROGRAM
        words = [str(project) if word in PROJECTS else word for word in entry["args"]]
        return StdioServerParameters(command=REMIT, args=[*words, *more], env={**environment, "PATH": os.environ["PATH"]})


EVERY = (
    Example(folder="claude_desktop", file="claude_desktop_config.json", key="mcpServers", asks=False),
    Example(folder="claude_code", file="mcp.json", key="mcpServers", asks=True),
    Example(folder="vscode", file="mcp.json", key="servers", asks=True),
    Example(folder="cursor", file="mcp.json", key="mcpServers", asks=True),
    Example(folder="zed", file="settings.json", key="context_servers", asks=False),
)
