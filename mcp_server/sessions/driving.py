"""What drives the runs of one process: its gate and its turns, made once, given its tools."""

from collections.abc import Mapping

from mcp_server.sessions.budgets import Budgets
from mcp_server.sessions.calling import Calling
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.drive import Drive
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.hold import Hold
from mcp_server.sessions.preparing import Preparing
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.pulse import Pulse
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.turns import Turns
from mcp_server.sessions.work import AnyTool, Rest


class Driving:
    """Keeps nothing of any run."""

    def __init__(self, deployment: Deployment, tools: Mapping[str, AnyTool], prompting: Prompting) -> None:
        toolbox = Toolbox(deployment, tools)
        self._deployment = deployment
        self._turns = Turns(deployment, toolbox)
        self._budgets = Budgets(deployment, prompting)
        self.gate = Gate(deployment, Preparing(toolbox), prompting)

    async def advance(self, pulse: Pulse, hold: Hold) -> tuple[Rest, ...] | None:
        """See `Drive.advance`."""
        return await Drive(self._deployment, Calling(self.gate, pulse, hold), self._turns, self._budgets, pulse, hold).advance()
