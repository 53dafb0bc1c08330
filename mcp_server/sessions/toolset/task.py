"""`task`: send a subagent. The child's authority is derived from its caller's by subtraction; nothing said here can add to it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import StoreError
from mcp_server.policy.values import Request, SpawnValue
from mcp_server.policy.widening import widening
from mcp_server.records import RunId, TextPart
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.reports import TaskReport, report_of, task_text
from mcp_server.sessions.smalljobs import name_session
from mcp_server.sessions.spawning import (
    Errand,
    child_record,
    inherited_rulings,
    narrowed_tools,
    resumable,
    resume_child,
    start_child,
    subagents,
    wanted_agent,
)
from mcp_server.sessions.standing import bare_member
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.work import AwaitsChild, Parked, SessionContext
from mcp_server.tools.base import Hints, ToolResult, ToolSpec

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


def about(agents: str) -> str:
    """What a model is told of the tool, with as much of the list of agents as there is room for."""
    room = DESCRIPTION - len(ABOUT.format(agents="").encode())
    if len(agents.encode()) > room:
        agents = agents.encode()[: room - len(CUT.encode())].decode(errors="ignore") + CUT
    return ABOUT.format(agents=agents)


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
        listed = "; ".join(f"{agent.name}: {agent.description}" for agent in agents) or "none is defined"
        return ToolSpec(
            waits=True,
            name="task",
            title="Send a subagent",
            description=about(listed),
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
        return await self._set_off(run_id)

    async def _set_off(self, run_id: RunId) -> ToolResult:
        run = await self._deployment.store.run(run_id)
        session = await self._deployment.store.session(run.session_id, run.principal) if run else None
        if run is None or session is None:
            raise StoreError("the child was stored a moment ago and cannot be read back")
        report = report_of(session, run)
        return ToolResult(parts=(TextPart(text=task_text(report)),), structured=report.model_dump(mode="json"))

    def _errand(self, arguments: TaskArguments, context: SessionContext) -> Errand:
        agent = wanted_agent(context.standing.definitions, arguments.subagent_type, resumed=arguments.task_id is not None)
        return Errand(
            agent=agent,
            description=arguments.description,
            prompt=arguments.prompt,
            background=agent.background if arguments.background is None else arguments.background,
            narrowed=narrowed_tools(arguments.tools, self._tool_names),
            inherited=inherited_rulings(context.standing, arguments.inherit),
            trace=context.trace,
        )
