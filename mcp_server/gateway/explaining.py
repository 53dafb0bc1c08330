"""What the page of agents and rules asks of whoever reads the files. Decides nothing itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.agents.definition import AgentSet
from mcp_server.policy.chain import Authority
from mcp_server.policy.values import Mode
from mcp_server.policy.verdicts import Verdict
from mcp_server.settings.values import Settings
from mcp_server.store.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What the rules say of one call of the last agent of a chain."""

    chain: tuple[str, ...]
    tool: str
    value: str
    held: Authority
    verdict: Verdict


class Explains(Protocol):
    """The files of a workspace, read anew at each question. Either may raise `RemitError`, with words for a person."""

    def agents(self, workspace: str) -> tuple[Settings, AgentSet]:
        """Who there is."""
        ...

    def explain(self, workspace: str, names: Sequence[str], mode: Mode | None, tool: str, value: str, store: Store) -> Explained:
        """What would happen, and why."""
        ...
