"""Every tool of a deployment, in the order in which they are listed."""

from collections.abc import Mapping
from functools import partial

from mcp_server.sessions.allowance import limit_uses
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.toolset.asking import AskQuestion
from mcp_server.sessions.toolset.info import SessionInfo
from mcp_server.sessions.toolset.polling import TaskCancel, TaskStatus
from mcp_server.sessions.toolset.task import Task
from mcp_server.sessions.work import AnyTool
from mcp_server.tools.builtin import builtin_tools


def every_tool(deployment: Deployment, supervisor: Supervisor, workspace: str) -> Mapping[str, AnyTool]:
    """By name; only those that the deployment offers."""
    plain = builtin_tools(deployment.web, deployment.background)
    names = [*(tool.spec.name for tool in plain), "question", "task", "task_status", "task_cancel", "session_info"]
    offered = [name for name in names if deployment.tools is None or name in deployment.tools]
    made: tuple[AnyTool, ...] = (
        Task(deployment, supervisor, offered, workspace),
        TaskStatus(deployment, supervisor),
        TaskCancel(deployment, supervisor),
        SessionInfo(deployment.enclosing, deployment.ways, partial(limit_uses, deployment), deployment.upstreams.notices),
        *plain,
        AskQuestion(),
    )
    return {tool.spec.name: tool for tool in made if tool.spec.name in offered}
