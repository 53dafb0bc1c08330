"""What definitions and rules say now, as far as sessions ask. Where it is read from is `rulebook`'s."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mcp_server.agents.definition import AgentDefinition
from mcp_server.policy.chain import Commons
from mcp_server.policy.values import Mode, Rule
from mcp_server.principal import Principal
from mcp_server.settings.membership import Membership


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRules:
    """The rules that hang on an agent's name."""

    person: tuple[Rule, ...] = ()
    managed: tuple[Rule, ...] = ()


Job = Literal["summary", "title", "compaction"]
"""The server's own small jobs that a hidden agent does."""


class Rulebook(Protocol):
    """Definitions and rules as they stand now. Read at each decision, never frozen into a session."""

    def pinned(self, workspace: str) -> "Rulebook":
        """What holds in a workspace as it stands at this moment, for one decision that reads several parts of it. Never to be kept."""
        ...

    def definitions(self, workspace: str) -> Mapping[str, AgentDefinition]:
        """All that may be used there, hidden ones too."""
        ...

    def commons(self, workspace: str, whose: Membership | None = None) -> Commons:
        """The layers that do not depend on the agent. `whose`: the caller, where the gateway's settings speak of callers."""
        ...

    def membership(self, principal: Principal, claims: Mapping[str, Any]) -> Membership | None:
        """Who a caller is by the gateway's settings, where their issuer said that of them. None: by no settings; LOCAL has none."""
        ...

    def command_line(self) -> tuple[Rule, ...]:
        """The rules of the flags that this server was started with."""
        ...

    def agent_rules(self, name: str) -> AgentRules: ...

    def model(self, definition: AgentDefinition) -> str | None:
        """The model string for it: its own, the person's for this agent, or the default. None: none is set."""
        ...

    def fallback(self, definition: AgentDefinition) -> str | None:
        """The model string that is asked where that one fails for good. None: none is set."""
        ...

    def role(self, job: Job, workspace: str) -> AgentDefinition | None:
        """The agent that does the job; None: it is left out."""
        ...

    def root_mode(self, agent: str) -> Mode:
        """The mode that a root session asks for."""
        ...
