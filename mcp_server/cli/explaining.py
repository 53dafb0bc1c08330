"""Who there is and what the rules say of a call, from the files as they are: for `remit explain` and for the console's page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_server.agents.definition import AgentSet
from mcp_server.agents.load import load_agents
from mcp_server.cli.asking import requests_for
from mcp_server.cli.enclosing import enclose_for
from mcp_server.cli.here import Here, here
from mcp_server.cli.members import cast_of
from mcp_server.gateway.explaining import Explained
from mcp_server.policy.chain import authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Mode
from mcp_server.settings.values import Settings
from mcp_server.store.protocol import Store


def explained(place: Here, names: Sequence[str], mode: Mode | None, tool: str, value: str, store: Store) -> Explained:
    """Decide about a call as the gate would, rulings left out, and run nothing. `store`: lent to the tools, never read or written.

    Raises:
        RemitError: The files have faults, no agent is called so, or it is no call.
    """
    cast = cast_of(place)
    members = cast.chain(names, mode or place.settings.mode)
    held = authority(members, place.settings.commons)
    verdict = decide(held, requests_for(tool, value, cast, members, store, enclose_for(place, held)))
    return Explained(chain=tuple(names), tool=tool, value=value, held=held, verdict=verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What the console's page asks, answered from the files at each question."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """Says where the person's own files lie."""

    def agents(self, workspace: str) -> tuple[Settings, AgentSet]:
        """As `remit agents`."""
        place = here(Path(workspace), environment=self.environment)
        return place.settings, load_agents(places=place.places, settings=place.settings)

    def explain(self, workspace: str, names: Sequence[str], mode: Mode | None, tool: str, value: str, store: Store) -> Explained:
        """As `remit explain`."""
        return explained(here(Path(workspace), environment=self.environment), names, mode, tool, value, store)
