"""Folders and a running Remit to measure in: a workspace, a person's folders, a scripted model. Gone afterwards."""

import json
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_server.app import Running, running
from mcp_server.sessions.deployment import Limits
from mcp_server.settings.places import Places
from mcp_server.settings.values import Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The folders."""

    folder: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def environment(self) -> dict[str, str]:
        """For a server of its own process."""
        named = {"HOME": "home", "REMIT_CONFIG_DIR": "config", "REMIT_STATE_DIR": "state", "REMIT_CACHE_DIR": "cache"}
        return {**os.environ, **{variable: str(self.folder / name) for variable, name in named.items()}}

    @property
    def places(self) -> Places:
        """For one in this process."""
        return Places(
            home=self.folder / "home",
            config=self.folder / "config",
            state=self.folder / "state",
            cache=self.folder / "cache",
            managed=self.folder / "managed",
            managed_owner=os.getuid(),
        )


@contextmanager
def ground(script: Mapping[str, Any] | None = None, agents: Mapping[str, str] | None = None) -> Generator[Ground]:
    """Made now. `script`: what the model says; `agents`: name to the whole Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        made = Ground(folder=Path(folder).resolve())
        for place in (made.workspace, made.folder / "home", made.folder / "config" / "agents"):
            place.mkdir(parents=True)
        (made.workspace / "small.txt").write_text("".join(f"line {number} of a small file\n" for number in range(1, 41)))
        if script is not None:
            path = made.folder / "config" / "script.yaml"
            path.write_text(json.dumps(script))  # JSON is YAML
            (made.folder / "config" / "settings.yaml").write_text(json.dumps({"model": f"scripted:{path}"}))
        for name, text in (agents or {}).items():
            (made.folder / "config" / "agents" / f"{name}.md").write_text(text)
        yield made


@asynccontextmanager
async def at_work(made: Ground, limits: Callable[[Limits], Limits] = lambda limits: limits) -> AsyncGenerator[Running]:
    """Remit without a transport, in this process."""
    parts = running(workspace=made.workspace, places=made.places, flags=Flags(), environment=made.environment, limits=limits)
    async with parts as remit:
        yield remit
