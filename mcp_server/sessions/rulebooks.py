"""The rules of several workspaces that one server serves, each read from its own files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_server.agents.definition import AgentDefinition
from mcp_server.policy.chain import Commons
from mcp_server.policy.values import Mode, Rule
from mcp_server.principal import Principal
from mcp_server.sessions.book import AgentRules, Job
from mcp_server.sessions.rulebook import FileRules, Pinned
from mcp_server.settings.membership import Membership
from mcp_server.settings.places import Places
from mcp_server.settings.served import served_folders
from mcp_server.settings.values import Flags


class Rulebooks:
    """A `Rulebook` that asks the one of the workspace in question; the server's own, where nobody says which."""

    def __init__(self, own: FileRules, others: Mapping[str, FileRules], names: Mapping[str, str]) -> None:
        """`others`: by the workspace's path, absolute and resolved. `names`: those paths by what settings call them."""
        self.own = own
        self._others = others
        self.names = names

    def of(self, workspace: str) -> FileRules:
        """The one of a workspace; the server's own for any that it does not serve."""
        return self._others.get(workspace, self.own)

    @property
    def workspaces(self) -> tuple[str, ...]:
        """The paths of all, the server's own first."""
        return tuple(dict.fromkeys((self.own.workspace, *self.names.values())))

    @property
    def every(self) -> tuple[FileRules, ...]:
        """The server's own first."""
        return (self.own, *(book for path, book in self._others.items() if path != self.own.workspace))

    @property
    def revision(self) -> str:
        """A name for what is in force now in all of them."""
        each = (self.own.revision, *(book.revision for book in self._others.values()))
        return hashlib.sha256("".join(each).encode()).hexdigest() if self._others else each[0]

    def complaints(self) -> tuple[str, ...]:
        """What is wrong with the files of any as they lie there now, each once."""
        return tuple(dict.fromkeys(said for book in (self.own, *self._others.values()) for said in book.complaints()))

    def reread(self) -> None:
        """Read the files of all now, whether or not they look changed."""
        for book in self.every:
            book.reread()

    def pinned(self, workspace: str) -> Pinned:
        return self.of(workspace).pinned(workspace)

    def definitions(self, workspace: str) -> Mapping[str, AgentDefinition]:
        return self.of(workspace).definitions(workspace)

    def commons(self, workspace: str, whose: Membership | None = None) -> Commons:
        return self.of(workspace).commons(workspace, whose)

    def membership(self, principal: Principal, claims: Mapping[str, Any]) -> Membership | None:
        return self.own.membership(principal, claims)

    def command_line(self) -> tuple[Rule, ...]:
        return self.own.command_line()

    def agent_rules(self, name: str) -> AgentRules:
        return self.own.agent_rules(name)

    def model(self, definition: AgentDefinition) -> str | None:
        return self.own.model(definition)

    def fallback(self, definition: AgentDefinition) -> str | None:
        return self.own.fallback(definition)

    def role(self, job: Job, workspace: str) -> AgentDefinition | None:
        return self.of(workspace).role(job, workspace)

    def root_mode(self, agent: str) -> Mode:
        return self.own.root_mode(agent)


def rulebooks_at(workspace: Path, places: Places, flags: Flags) -> Rulebooks:
    """The rules of the server's own workspace, and of the others that its settings name now.

    Raises:
        ConfigError: One of them cannot be a workspace, or what lies in it is at fault.
    """
    own = FileRules(workspace=workspace, places=places, flags=flags)
    names = served_folders(own.edition.settings, places)
    others = {path: FileRules(workspace=Path(path), places=places, flags=flags, own=False) for path in names.values()}
    return Rulebooks(own, others, names)
