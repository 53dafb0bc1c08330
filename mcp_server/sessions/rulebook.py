"""Definitions and rules from the files, as they are now.

Files are read anew when one of them has changed. If they are then at fault, the last good ones stay in force and the log says so:
a server in use is not stopped by a typing error, and no rule is lost by one. A workspace's faults keep nobody else's changes from
being heard: only what it denied and asked before stays of it.
"""

import hashlib
import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from mcp_server.agents.definition import AgentDefinition, AgentSet
from mcp_server.agents.load import load_agents
from mcp_server.errors import ConfigError
from mcp_server.policy.chain import Commons
from mcp_server.policy.values import Mode, Rule
from mcp_server.principal import Principal, TokenPrincipal
from mcp_server.sessions.book import AgentRules, Job
from mcp_server.settings.at_start import waiting
from mcp_server.settings.load import load_settings
from mcp_server.settings.membership import NOBODY, Membership, commons_for, membership_of
from mcp_server.settings.places import Places
from mcp_server.settings.values import Flags, Settings

log = structlog.get_logger(__name__)

Seen = tuple[str, int, int, int, int]
"""A path, when its content and when anything of it changed, its size and its identity."""

Stamp = tuple[Seen, ...]


RECENT = 0.05
"""Seconds for which a look at the files is good enough for what decides nothing: a call takes several such looks, and decides by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """What one reading of the files gave."""

    settings: Settings
    agents: AgentSet


class Answers(ABC):
    """A `Rulebook`, whichever edition it answers from."""

    @property
    @abstractmethod
    def edition(self) -> Edition: ...

    def pinned(self, workspace: str) -> "Pinned":
        return Pinned(self.edition)

    def definitions(self, workspace: str) -> Mapping[str, AgentDefinition]:
        return self.edition.agents

    def commons(self, workspace: str, whose: Membership | None = None) -> Commons:
        settings = self.edition.settings
        return settings.commons if whose is None else commons_for(settings, whose)

    def membership(self, principal: Principal, claims: Mapping[str, Any]) -> Membership | None:
        gateway = self.edition.settings.gateway
        if not isinstance(principal, TokenPrincipal):
            return None
        return NOBODY if gateway is None else membership_of(gateway, principal, claims)

    def command_line(self) -> tuple[Rule, ...]:
        return self.edition.settings.command_line

    def agent_rules(self, name: str) -> AgentRules:
        tuning = self.edition.settings.tuning(name)
        return AgentRules(person=tuning.person, managed=tuning.managed)

    def model(self, definition: AgentDefinition) -> str | None:
        return self.edition.settings.model_for(definition.model, hidden=definition.hidden)

    def fallback(self, definition: AgentDefinition) -> str | None:
        return definition.fallback or self.edition.settings.model_fallback

    def role(self, job: Job, workspace: str) -> AgentDefinition | None:
        roles = self.edition.settings.roles
        names: Mapping[Job, str] = {"summary": roles.summary, "title": roles.title, "compaction": roles.compaction}
        return self.edition.agents.get(names[job])

    def root_mode(self, agent: str) -> Mode:
        return self.edition.settings.mode


class Pinned(Answers):
    """One edition, for as long as one decision takes."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition

    @property
    def edition(self) -> Edition:
        return self._edition


class FileRules(Answers):
    """See `Rulebook`. One for each workspace."""

    def __init__(self, *, workspace: Path, places: Places, flags: Flags, own: bool = True) -> None:
        """`own`: the server's own workspace, whose settings it was started with."""
        self._workspace = workspace
        self._places = places
        self._flags = flags
        # Links in the person's and the operator's folders are followed when they are read, so they are here; a workspace's never are.
        followed, plain = (places.managed, places.config), (workspace / ".remit", places.state / "trust")
        self._looked_at = (*((str(folder), True) for folder in followed), *((str(folder), False) for folder in plain))
        self._stamp = self._stamped()
        self._stamped_at = time.monotonic()
        self._edition = self._read()
        self._started = self._edition.settings if own else None
        self.waiting: tuple[str, ...] = ()
        """Keys that say something else than at the start, and hold from the next one on."""
        self.faults: tuple[str, ...] = ()
        """What is wrong with the files as they are now, which keeps what was before in force. Empty: they are in force."""

    @property
    def workspace(self) -> str:
        """Its path."""
        return str(self._workspace)

    @property
    def edition(self) -> Edition:
        """What is in force now. Looks at every file.

        Raises:
            Nothing: faults in changed files are logged, and what was in force stays.
        """
        stamp, self._stamped_at = self._stamped(), time.monotonic()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._edition, self.faults = self._read(), ()
                log.info("settings and agents were read anew", workspace=str(self._workspace))
                self._tell_waiting()
            except ConfigError as error:
                self.faults = tuple(str(error).splitlines())
                log.error("changed settings or agents are at fault; those from before stay in force", faults=list(self.faults))
                self._edition = self._beside_the_workspace()
        return self._edition

    @property
    def recent(self) -> Edition:
        """What was in force a moment ago. Not for a decision."""
        return self._edition if time.monotonic() - self._stamped_at < RECENT else self.edition

    def _tell_waiting(self) -> None:
        """Say by name which changes a running server does not take up."""
        now = () if self._started is None else waiting(self._started, self._edition.settings)
        if now and now != self.waiting:
            log.warning("changed settings wait for a restart", keys=list(now))
        self.waiting = now

    def complaints(self) -> tuple[str, ...]:
        """What is wrong with the files as they lie there now, and which changes wait for a restart."""
        _ = self.edition
        return (*self.faults, *(f"`{key}` was changed, and waits for a restart" for key in self.waiting))

    def reread(self) -> None:
        """Read the files now, whether or not they look changed."""
        self._stamp = ()
        _ = self.edition

    @property
    def revision(self) -> str:
        """A name for what is in force now: another one once a file of it has changed."""
        _ = self.edition
        return hashlib.sha256(repr(self._stamp).encode()).hexdigest()

    def _beside_the_workspace(self) -> Edition:
        """Everything as it is now but for the workspace's own files; what was in force, where others are at fault too."""
        try:
            return self._read(self._edition.settings)
        except ConfigError:
            return self._edition

    def _read(self, before: Settings | None = None) -> Edition:
        settings = load_settings(workspace=self._workspace, places=self._places, flags=self._flags, before=before)
        return Edition(settings=settings, agents=load_agents(places=self._places, settings=settings))

    def _stamped(self) -> Stamp:
        seen: list[Seen] = []
        for folder, follow in self._looked_at:
            _look(folder, DEEP, seen, follow=follow)
        return tuple(seen)


DEEP = 3
"""Levels below a configuration folder that are looked at: `settings.d/x.yaml`, `agents/x.md` and one more."""


def _look(path: str, depth: int, seen: list[Seen], *, follow: bool) -> None:
    """Note a file, or a folder with its files, as they are now. A folder that cannot be read has none: reading it will say so."""
    status = _noted(path, seen, follow=False)
    if status is not None and follow and stat.S_ISLNK(status.st_mode):
        status = _noted(path, seen, follow=True)
    if status is None or depth == 0 or not stat.S_ISDIR(status.st_mode):
        return
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return
    for name in names:
        _look(f"{path}/{name}", depth - 1, seen, follow=follow)


def _noted(path: str, seen: list[Seen], *, follow: bool) -> os.stat_result | None:
    try:
        status = os.stat(path, follow_symlinks=follow)
    except OSError:
        seen.append((path, 0, 0, 0, 0))
        return None
    seen.append((path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))
    return status
