"""How a server of its own process is started: its program, environment and folder, and what holds it."""

import hashlib
import json
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mcp.client._transport import TransportStreams  # no public name has it

from mcp_server.errors import ToolFailure
from mcp_server.policy.chain import Authority
from mcp_server.policy.values import Action, Layer, LayerKind, Mode, Rule
from mcp_server.protocol.upstream.expanding import expanded, placed
from mcp_server.protocol.upstream.streams import Words, streams_of
from mcp_server.sandbox.backend import Backend
from mcp_server.sandbox.direct import Direct
from mcp_server.sandbox.enclosing import Enclosing
from mcp_server.sandbox.profile import Limits, Profile
from mcp_server.sandbox.serving import serving
from mcp_server.settings.upstream import Upstream, UpstreamSandbox
from mcp_server.tools.foreign import Whose

FREE = Direct(unlimited=True)
"""What a server runs in whose settings hold it in nothing: like any program of this user's."""

OWN = "servers"
"""Where servers start for which settings name no folder, each in one of its own; below the folder for temporary things."""

LONG = Limits(cpu_seconds=7 * 24 * 3600)
"""A server lives for hours, and is ended by its lifetime."""


class CannotStart(ToolFailure):
    """The program cannot be run, or not as settings want it held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """What all of a deployment's are started with."""

    environment: Mapping[str, str]
    """Of Remit itself: what settings name is looked up here."""
    harmless: Mapping[str, str]
    """What each gets of it."""
    enclosing: Enclosing | None
    temporary: Path
    """A folder for what a server that is not held puts into its temporary one."""

    @asynccontextmanager
    async def started(
        self, name: str, config: Upstream, whose: Whose, words: Words, on_end: Callable[[str], None]
    ) -> AsyncGenerator[TransportStreams]:
        """Start it, and speak with it; leaving ends it with all that it started.

        Raises:
            CannotStart: It cannot be run as settings say.
            NotSet: What it must be given is not there.
        """
        command, cwd = config.command or "", folder_of(config, whose.workspace, self._own(name, config, whose))
        variables = {key: expanded(text, self.environment, whose.workspace) for key, text in config.env.items()}
        environment = {**self.harmless, **variables}
        program = program_at(placed(command, whose.workspace), cwd, environment)
        backend, profile = self._held(name, config.sandbox, whose, environment)
        argv = (program, *(placed(text, whose.workspace) for text in config.args))
        try:
            async with serving(backend, profile, argv, cwd=cwd) as served, streams_of(served, words, on_end) as streams:
                yield streams
        except OSError as error:
            raise CannotStart(f"the program `{command}` cannot be run: {error.strerror}") from error

    def _own(self, name: str, config: Upstream, whose: Whose) -> Path:
        """Where a server starts for which settings name no folder: what it leaves there is the same person's when it starts again there."""
        own = self.temporary / OWN / own_mark(name, config, whose)
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        return own

    def _held(self, name: str, wish: UpstreamSandbox | None, whose: Whose, environment: Mapping[str, str]) -> tuple[Backend, Profile]:
        if wish is None or self.enclosing is None:
            if wish is not None:
                raise CannotStart("it is to run in a sandbox, and there is none here")
            return FREE, Profile(workspace=whose.workspace, visible=(), temporary=str(self.temporary), environment=environment)
        drawn = self.enclosing.enclosure(_allowed(wish, whose), whose.workspace, f"upstream-{name}-{folder_mark(whose)}")
        if drawn.chosen or not drawn.holds:
            why = "; ".join(("settings say that none is to be used",) if drawn.chosen else (*drawn.missing, *drawn.profile.unheld))
            raise CannotStart(f"it is to run in a sandbox, and none can hold it: {why}")
        return drawn.backend, replace(drawn.profile, environment={**drawn.profile.environment, **environment}, limits=LONG)


def folder_of(config: Upstream, workspace: str, own: Path) -> str:
    """Where it starts. Raises `CannotStart` where there is no such folder.

    A workspace may hold what launchers run in place of the program that settings name (`node_modules`, a module, a registry's address), and
    whoever may write there would run what they like, held in nothing. So a server that is not held starts there only where settings say so.

    Args:
        config: Its settings.
        workspace: Absolute.
        own: A folder of Remit's own.
    """
    if config.cwd is None and config.sandbox is None:
        return str(own)
    folder = os.path.realpath(os.path.expanduser(placed(config.cwd or workspace, workspace)))
    if not os.path.isdir(folder):
        raise CannotStart(f"the folder {folder} does not exist")
    return folder


def program_at(command: str, cwd: str, environment: Mapping[str, str]) -> str:
    """A program by its whole path. A relative one with a folder in it is taken from the folder that the server starts in.

    Raises:
        CannotStart: It is not found.
    """
    named = os.path.expanduser(command)
    found = shutil.which(os.path.join(cwd, named) if os.path.dirname(named) else named, path=environment.get("PATH"))
    if found is None:
        where = f" from {cwd}, the folder that it starts in (`cwd`)" if os.path.dirname(named) and not os.path.isabs(named) else ""
        raise CannotStart(f"the program `{command}` is not found{where}")
    return os.path.abspath(found)


def folder_mark(whose: Whose) -> str:
    """Tells a server's temporary folder from that of the same one for somebody else."""
    return _mark(whose.principal, whose.workspace, whose.root)


def own_mark(name: str, config: Upstream, whose: Whose) -> str:
    """Tells the folder of Remit's own that a server starts in from that of another one, and of the same one for somebody else."""
    return name if config.shareable else f"{name}-{_mark(whose.principal, whose.workspace)}"


def _mark(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _allowed(wish: UpstreamSandbox, whose: Whose) -> Authority:
    """What a held server may do, as the rules that a profile is drawn from: its settings' word, and nothing of anybody's session."""
    rules = [
        Rule(permission=permission, pattern=pattern, action=Action.ALLOW)
        for permissions, folders in ((("read", "external_directory"), (*wish.read, *wish.write)), (("edit",), wish.write))
        for folder in (os.path.realpath(os.path.expanduser(placed(each, whose.workspace))) for each in folders)
        for permission in permissions
        for pattern in (folder, f"{folder}/*")
    ]
    network = Rule(permission="webfetch", pattern="*", action=Action.ALLOW if wish.network else Action.DENY)
    layer = Layer(kind=LayerKind.PERSON, owner="the server's settings", rules=(*rules, network), may_allow=True)
    return Authority(layers=(layer,), mode=Mode.DEFAULT, may_ask=False, rulings=())
