"""What a model is told of `task`, and what it may say there of tools."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_server.agents.definition import AgentDefinition
from mcp_server.errors import ToolFailure
from mcp_server.sessions.front import Offered
from mcp_server.tools.base import SEPARATOR, ToolSpec

ABOUT = """Send a subagent to do a job of its own and get its result. Use it for work that takes many steps you need not see:
searching a large tree, reading many files, a self-contained change. Say in `prompt` all that the child must know: it sees nothing of
your conversation, and its last message is all that you get.

The child can never do what you may not. `tools` can only take tools away from it. If a rule says so, a person is asked first.
The call returns the result, or the state `running` or `waiting` with the task's id: then poll `task_status`. With `background` it
returns at once. `task_id` gives an ended child another prompt; it remembers what it did.
Read `refused` in the result: it lists every call of the child that was denied or not answered, whatever its text claims.

Subagents: {agents}"""


DESCRIPTION = 1_900
"""Bytes of a description: some hosts cut it at 2 KB, and a cut in mid-sentence misleads."""

CUT = "… (a wrong name is answered with all of them)"


def about(agents: Iterable[AgentDefinition | Offered]) -> str:
    """What a model is told of the tool, with as much of the list of agents as there is room for."""
    return _about("; ".join(f"{agent.name}: {agent.description}" for agent in agents) or "none is defined")


def _about(agents: str) -> str:
    room = DESCRIPTION - len(ABOUT.format(agents="").encode())
    if len(agents.encode()) > room:
        agents = agents.encode()[: room - len(CUT.encode())].decode(errors="ignore") + CUT
    return ABOUT.format(agents=agents)


def spec_about(spec: ToolSpec, agents: Sequence[Offered]) -> ToolSpec:
    """The tool as it presents itself to somebody who may send these."""
    return replace(spec, description=about(agents))


def narrowed_tools(asked: Sequence[str] | None, known: Sequence[str], servers: Sequence[str]) -> tuple[str, ...] | None:
    """The tools a child is left. Of other servers', the server is known; its tools are not asked for here.

    Raises:
        ToolFailure: A name is not a tool's: a typo must not leave a child with more or less than was meant.
    """
    if asked is None:
        return None
    foreign = {name for name in asked if SEPARATOR in name and name.partition(SEPARATOR)[0] in servers}
    unknown = sorted(set(asked) - set(known) - foreign)
    if unknown:
        there = ", ".join((*known, *(f"{server}{SEPARATOR}*" for server in servers)))
        raise ToolFailure(f"tools: {', '.join(unknown)} do not exist; there are: {there}")
    return tuple(dict.fromkeys(asked))
