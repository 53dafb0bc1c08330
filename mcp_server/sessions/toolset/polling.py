"""`task_status` and `task_cancel`: what became of a child, and an end to it. Both need ownership, not permission."""

from typing import Annotated

import anyio
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.policy.values import Request
from mcp_server.records import FINAL, RunRecord, SessionRecord, TextPart
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.lookups import child_of
from mcp_server.sessions.reports import TaskReport, report_of, task_text
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.trees import prompts_below, unfinished_below
from mcp_server.sessions.work import SessionContext
from mcp_server.tools.base import Hints, ToolResult, ToolSpec

LONGEST_WAIT = 45.0
"""Seconds: hosts give a call about 60."""
LOOK = 2.0
"""Seconds between two looks while nothing rings: another process may have ended the run."""
CANCEL_WAIT = 5.0
"""Seconds that `task_cancel` waits to see the tree ended; it ends in under one."""


class StatusArguments(BaseModel):
    """What `task_status` takes."""

    model_config = ConfigDict(extra="forbid")

    task_id: Annotated[str, Field(description="The id that `task` returned.")]
    wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Wait so long for a change; 0 answers at once.")] = 0.0


class CancelArguments(BaseModel):
    """What `task_cancel` takes."""

    model_config = ConfigDict(extra="forbid")

    task_id: Annotated[str, Field(description="The id that `task` returned.")]


class Children:
    """Looks at the children of whoever calls."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor) -> None:
        self._deployment = deployment
        self._supervisor = supervisor

    async def seen(self, session: SessionRecord, run: RunRecord) -> ToolResult:
        """The child as it stands now."""
        open_prompts = prompts_below(self._supervisor.prompting.open_ones, session.id)
        report = report_of(session, run, self._deployment.ways.lines(open_prompts), self._deployment.asks.below(session.id))
        return ToolResult(parts=(TextPart(text=task_text(report)),), structured=report.model_dump(mode="json"))

    async def until_ended(self, run: RunRecord, seconds: float) -> RunRecord:
        """The run once it has ended, or as it is after so long."""
        store = self._deployment.store
        with anyio.move_on_after(seconds):
            while run.state not in FINAL:
                with self._supervisor.wakeups.listening(run.session_id) as bell:
                    run = await store.run(run.id) or run
                    if run.state not in FINAL:
                        with anyio.move_on_after(LOOK):
                            await bell.wait()
        return run


class TaskStatus(Children):
    """The tool."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            waits=True,
            name="task_status",
            title="How a subagent is doing",
            description=(
                "Look at a task you have started: its state (running, waiting, completed, error, cancelled), its result once it has one, "
                "what it waits for, and every call of it that was refused. `wait_seconds` waits for its end, at most 45."
            ),
            arguments=StatusArguments,
            hints=Hints(read_only=True, destructive=False, idempotent=True),
            output=TaskReport,
            by_ownership=True,
        )

    def requests(self, arguments: StatusArguments, context: SessionContext) -> tuple[Request, ...]:
        """None: a child is its caller's own."""
        return ()

    async def run(self, arguments: StatusArguments, context: SessionContext) -> ToolResult:
        """Look, or wait and look."""
        session, run = await child_of(self._deployment.store, context.standing.session, arguments.task_id)
        run = await self.until_ended(run, arguments.wait_seconds)
        return await self.seen(session, run)


class TaskCancel(Children):
    """The tool."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            waits=True,
            name="task_cancel",
            title="Stop a subagent",
            description="End a task you have started and everything below it. What it had found so far is kept in its result.",
            arguments=CancelArguments,
            hints=Hints(read_only=False, destructive=True, idempotent=True),
            output=TaskReport,
            by_ownership=True,
        )

    def requests(self, arguments: CancelArguments, context: SessionContext) -> tuple[Request, ...]:
        """None: a child is its caller's own."""
        return ()

    async def run(self, arguments: CancelArguments, context: SessionContext) -> ToolResult:
        """Ask the whole tree to end, and see it ended."""
        session, run = await child_of(self._deployment.store, context.standing.session, arguments.task_id)
        tree = await unfinished_below(self._deployment.store, session.id)
        await self._supervisor.cancel(session.id, " › ".join(context.session_path))
        with anyio.move_on_after(CANCEL_WAIT):
            for below in tree:
                await self.until_ended(below, CANCEL_WAIT)
        return await self.seen(session, await self._deployment.store.run(run.id) or run)
