"""Which agents a client may send, as far as rules alone can tell. Being offered one permits nothing."""

from mcp_server.policy.chain import authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, Request, SpawnValue
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller, Offered
from mcp_server.sessions.roots import root_of
from mcp_server.sessions.spawning import subagents
from mcp_server.sessions.standing import bare_member


def sendable(deployment: Deployment, caller: Caller) -> tuple[Offered, ...]:
    """Those that `task` may start, by name, without those that the rules of the caller's root deny."""
    rulebook = deployment.rulebook.pinned()
    definitions = rulebook.definitions(caller.workspace)
    root = root_of(deployment, caller, SessionId(""), shared=False)
    root_authority = authority((bare_member(rulebook, root, definitions),), rulebook.commons(caller.workspace), ())

    def denied(name: str) -> bool:
        asked = Request(permission="task", values=(SpawnValue(text=name),))
        return decide(root_authority, (asked,)).action is Action.DENY

    return tuple(Offered(name=agent.name, description=agent.description) for agent in subagents(definitions) if not denied(agent.name))
