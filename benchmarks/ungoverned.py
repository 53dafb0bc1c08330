"""Remit without what governs: a gate that lets every call pass unjudged and writes nothing down. Made of Remit's own parts, for measuring
alone: the product has no switch that does this, and is not to have one.

`python -m benchmarks.ungoverned PORT WORKSPACE`, over HTTP on this machine, with the folders that the environment names.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import anyio

from mcp_server.app import Running, running
from mcp_server.gateway.callers import Callers
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.protocol.http import listen, serve_http
from mcp_server.protocol.server import build_server
from mcp_server.protocol.state_key import request_state_key
from mcp_server.records import CallEnded
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.desk import Desk
from mcp_server.sessions.front import Caller
from mcp_server.sessions.gate import Gate, as_ended
from mcp_server.sessions.looking import Look, look
from mcp_server.sessions.preparing import Preparing
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.toolset.all import every_tool
from mcp_server.sessions.work import Work
from mcp_server.settings.places import Places, find_places
from mcp_server.settings.values import Flags
from mcp_server.tools.base import ToolResult


class Unjudged(Gate):
    """No decision, no event. What a tool is lent of its session is looked at once a session, and kept."""

    def __init__(self, deployment: Deployment, preparing: Preparing, prompting: Prompting) -> None:
        super().__init__(deployment, preparing, prompting)
        self._looks: dict[SessionId, Look] = {}

    async def attempt(self, work: Work) -> CallEnded:
        """Have it done.

        Raises:
            TypeError: It waits for a person or a child, which is nothing to measure here.
        """
        seen = self._looks.get(work.session.id)
        if seen is None:
            seen = self._looks[work.session.id] = await look(self._deployment, self._prompting, work)
        prepared = await self._preparing.prepare(work, seen)
        if isinstance(prepared, CallEnded):
            return prepared
        result = await prepared.tool.run(prepared.arguments, replace(prepared.context, judged=prepared.requests))
        if not isinstance(result, ToolResult):
            raise TypeError(f"{work.call.tool} waits")
        return as_ended(work.call, result)


async def serve(port: int, workspace: Path, places: Places) -> None:
    """Until a signal ends it."""
    async with (
        running(workspace=workspace, places=places, flags=Flags(), environment=os.environ) as parts,
        anyio.create_task_group() as group,
    ):
        desk = _desk(parts, str(workspace))
        desk.open(group)
        caller = Caller(principal=LOCAL, workspace=str(workspace), agent=parts.settings.agent)
        server = build_server(desk, caller_of=Callers(caller, known_only=False), keys=[request_state_key(places.state)], version="0")
        await serve_http(server, listen("127.0.0.1", port), on_end=parts.end, on_ready=_ready)
        group.cancel_scope.cancel()


def _desk(parts: Running, workspace: str) -> Desk:
    deployment, supervisor = parts.deployment, parts.supervisor
    toolbox = Toolbox(deployment, every_tool(deployment, supervisor, workspace))
    return Desk(deployment, supervisor, Unjudged(deployment, Preparing(toolbox), supervisor.prompting), toolbox)


def _ready(url: str) -> None: ...


if __name__ == "__main__":
    anyio.run(serve, int(sys.argv[1]), Path(sys.argv[2]), find_places(os.environ))
