"""`task`: send a subagent. The child's authority is derived from its caller's by subtraction; nothing said here can add to it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.policy.values import Request, SpawnValue
from mcp_server.policy.widening import widening
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.reports import TaskReport
from mcp_server.sessions.smalljobs import name_session
from mcp_server.sessions.spawning import (
    Errand,
    child_record,
    inherited_rulings,
    resumable,
    resume_child,
    start_child,
    subagents,
    wanted_agent,
)
from mcp_server.sessions.standing import bare_member
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.toolset.setting_off import set_off
from mcp_server.sessions.toolset.task_words import about, narrowed_tools
from mcp_server.sessions.work import AwaitsChild, Parked, SessionContext
from mcp_server.tools.base import Hints, ToolResult, ToolSpec


class TaskArguments(BaseModel):
    """What `task` takes."""

    model_config = ConfigDict(extra="forbid")

    description: Annotated[str, Field(min_length=1, max_length=200, description="The job in three to five words.")]
    prompt: Annotated[str, Field(min_length=1, description="Everything that the child must know.")]
    subagent_type: Annotated[str, Field(description="The subagent's name.")]
    task_id: Annotated[str | None, Field(description="An ended child of yours, to give it another prompt.")] = None
    background: Annotated[bool | None, Field(description="Return at once; poll with task_status.")] = None
    tools: Annotated[list[str] | None, Field(description="Leave the child only these tools; with grep leave read. Grants nothing.")] = None
    inherit: Annotated[list[str] | None, Field(description="Ids of your own rulings (session_info) to hand down; asks a person.")] = None


class Task:
    """The tool."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, tool_names: Sequence[str], workspace: str) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._tool_names = tool_names
        self._workspace = workspace

    @property
    def spec(self) -> ToolSpec:
        agents = subagents(self._deployment.rulebook.definitions(self._workspace))
        return ToolSpec(
            waits=True,
            name="task",
            title="Send a subagent",
            description=about(agents),
            arguments=TaskArguments,
            hints=Hints(read_only=False, destructive=True, open_world=True),
            output=TaskReport,
            outlasts=True,
        )

    def requests(self, arguments: TaskArguments, context: SessionContext) -> tuple[Request, ...]:
        """One request: the agent, with what it would widen."""
        standing = context.standing
        errand = self._errand(arguments, context)
        record = child_record(standing, context.call, errand, 0.0)
        child = bare_member(standing.rulebook, record, standing.definitions)
        new = widening(standing.members, child, standing.commons)
        handed = tuple(str(record.ruling.rule) for record in errand.inherited)
        return (Request(permission="task", values=(SpawnValue(text=errand.agent.name, widening=new, handed=handed),)),)

    async def foresee(self, arguments: TaskArguments, context: SessionContext) -> None:
        """A child that is to be given another prompt must be the caller's, at rest, and the agent that is named."""
        if arguments.task_id is not None:
            errand = self._errand(arguments, context)
            await resumable(self._deployment, context.standing, arguments.task_id, errand)

    async def run(self, arguments: TaskArguments, context: SessionContext) -> ToolResult | Parked:
        """Store the child and set it going."""
        errand = self._errand(arguments, context)
        if arguments.task_id is None:
            run_id = await start_child(self._deployment, context.standing, context.call, errand)
        else:
            run_id = await resume_child(self._deployment, context.standing, context.call, arguments.task_id, errand)
        self._supervisor.kick(run_id)
        root = context.standing.records[-1]  # as it is stored now: a connection's own record is of when it was opened
        if root.parent_id is None and not root.title:
            self._supervisor.aside(partial(name_session, self._deployment, root, arguments.prompt, context.trace))
        if not errand.background:
            return AwaitsChild(run_id=run_id)
        return await set_off(self._deployment.store, run_id)

    def _errand(self, arguments: TaskArguments, context: SessionContext) -> Errand:
        agent = wanted_agent(context.standing.definitions, arguments.subagent_type, resumed=arguments.task_id is not None)
        return Errand(
            agent=agent,
            description=arguments.description,
            prompt=arguments.prompt,
            background=agent.background if arguments.background is None else arguments.background,
            narrowed=narrowed_tools(arguments.tools, self._tool_names, self._deployment.upstreams.names),
            inherited=inherited_rulings(context.standing, arguments.inherit),
            trace=context.trace,
        )
