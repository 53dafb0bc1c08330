"""Chains of agents by name, as policy sees them, under the files as they are: for `explain` and for cases that name real files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_server.agents.definition import AgentSet
from mcp_server.agents.load import load_agents
from mcp_server.cli.here import Here
from mcp_server.cli.shown import NotFound
from mcp_server.policy.chain import Member, stricter
from mcp_server.policy.values import Mode
from mcp_server.policy.verdicts import SessionId
from mcp_server.settings.values import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The agents of one workspace, ready to stand in a chain."""

    settings: Settings
    agents: AgentSet

    def member(self, name: str, session_id: SessionId) -> Member | None:
        """A session of that agent as the server would make it; None: nobody defines it."""
        agent = self.agents.get(name)
        if agent is None:
            return None
        tuning = self.settings.tuning(name)
        return Member(
            session_id=session_id,
            agent=name,
            rules=(*agent.permission, *tuning.person),
            person=tuning.person,
            managed=tuning.managed,
            mode=agent.permission_mode,
            may_ask=agent.prompts == "bubble",
        )

    def known(self, name: str, place: int) -> Member:
        """As `member`.

        Raises:
            NotFound: Nobody defines it.
        """
        member = self.member(name, SessionId(f"session {place}"))
        if member is None:
            raise NotFound(f"no agent is called {name}; there are: {', '.join(sorted(self.agents))}")
        return member

    def chain(self, names: Sequence[str], mode: Mode) -> tuple[Member, ...]:
        """The sessions, root first; the root asks for the mode, or for its agent's own where that is stricter."""
        root, *others = [self.known(name, place) for place, name in enumerate(names)]
        return (replace(root, mode=mode if root.mode is None else stricter(mode, root.mode)), *others)


def cast_of(place: Here) -> Cast:
    """Everybody who may act in a workspace.

    Raises:
        ConfigError: With every fault of every definition.
    """
    return Cast(settings=place.settings, agents=load_agents(places=place.places, settings=place.settings))
