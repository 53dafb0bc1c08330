"""Which agents a client may send, and which tools it is shown, as far as rules alone can tell. Being offered one permits nothing."""

from collections.abc import Sequence

from mcp_server.policy.chain import authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, Request, SpawnValue
from mcp_server.policy.verdicts import SessionId
from mcp_server.policy.wildcards import listed
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller, Offered
from mcp_server.sessions.roots import root_of
from mcp_server.sessions.spawning import subagents
from mcp_server.sessions.standing import bare_member
from mcp_server.sessions.toolset.task_words import spec_about
from mcp_server.tools.base import ToolSpec


def given(specs: Sequence[ToolSpec], caller: Caller, agents: Sequence[Offered]) -> tuple[ToolSpec, ...]:
    """The tools that the caller is given, `task` with the agents that they may send."""
    tools = None if caller.membership is None else caller.membership.tools
    mine = (spec for spec in specs if tools is None or listed(spec.name, tools))
    return tuple(spec_about(spec, agents) if spec.name == "task" else spec for spec in mine)


def sendable(deployment: Deployment, caller: Caller) -> tuple[Offered, ...]:
    """Those that `task` may start, by name, without those that the rules of the caller's root deny."""
    rulebook = deployment.rulebook.pinned(caller.workspace)
    definitions = rulebook.definitions(caller.workspace)
    root = root_of(deployment, caller, SessionId(""), shared=False)
    root_authority = authority((bare_member(rulebook, root, definitions),), rulebook.commons(caller.workspace, caller.membership), ())

    def denied(name: str) -> bool:
        asked = Request(permission="task", values=(SpawnValue(text=name),))
        return decide(root_authority, (asked,)).action is Action.DENY

    return tuple(Offered(name=agent.name, description=agent.description) for agent in subagents(definitions) if not denied(agent.name))
