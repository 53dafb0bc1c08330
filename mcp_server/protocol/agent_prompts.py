"""Agents as MCP prompts, for hosts that offer these as `/explore …`: a message that tells the model to send that agent.

A prompt grants nothing. What comes of it is a `task` call of the model's like any other, judged by the same gate.
"""

import json
from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from mcp_server.protocol.lines import Line
from mcp_server.sessions.front import Caller, Front, Offered

TASK = PromptArgument(name="task", title="Task", description="What the agent shall do, and all that it must know for it.", required=True)


Request = ServerRequestContext[Line, Any]


class AgentPrompts:
    """Answers `prompts/list` and `prompts/get` in both eras, from the agents as they are now."""

    def __init__(self, front: Front, caller_of: Callable[[Request], Caller]) -> None:
        self._front = front
        self._caller_of = caller_of

    async def listed(self, ctx: Request, params: PaginatedRequestParams | None) -> ListPromptsResult:
        """One prompt an agent."""
        return ListPromptsResult(prompts=[_prompt(agent) for agent in self._front.agents(self._caller_of(ctx))])

    async def got(self, ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
        """The message.

        Raises:
            MCPError: No agent has that name, or there is no task to give it.
        """
        agents = {agent.name: agent for agent in self._front.agents(self._caller_of(ctx))}
        agent = agents.get(params.name)
        if agent is None:
            raise MCPError(INVALID_PARAMS, f"no agent is called `{params.name}`; there are: {', '.join(agents) or 'none'}")
        task = (params.arguments or {}).get("task", "").strip()
        if not task:
            raise MCPError(INVALID_PARAMS, f"`task` is missing: say what {agent.name} shall do")
        message = PromptMessage(role="user", content=TextContent(type="text", text=message_of(agent, task)))
        return GetPromptResult(description=agent.description, messages=[message])


def _prompt(agent: Offered) -> Prompt:
    return Prompt(name=agent.name, title=f"Send {agent.name}", description=agent.description, arguments=[TASK])


def message_of(agent: Offered, task: str) -> str:
    """What the model is told. The task stands last, as the person wrote it."""
    return (
        f"Call the tool `task` of Remit with `subagent_type` {json.dumps(agent.name)}, a `description` of three to five words, and a "
        "`prompt` that holds the task below together with what the agent must know of this conversation: it sees nothing of it. "
        "When it has ended, tell me its result and every call of its that was refused.\n\n"
        f"The task:\n{task}"
    )
