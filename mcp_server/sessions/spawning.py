"""Starting and resuming children: what is checked before anybody is asked, and what is stored when it may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_server.agents.definition import AgentDefinition
from mcp_server.errors import NoPlace, NoSuchHandle, ToolFailure
from mcp_server.policy.values import Action, ToolCall
from mcp_server.records import (
    FINAL,
    RulingRecord,
    RunId,
    RunRecord,
    RunState,
    SessionRecord,
    TaskGiven,
)
from mcp_server.sessions import events
from mcp_server.sessions.allowance import Account, admitted, crowded, places_of
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import child_ids
from mcp_server.sessions.lookups import child_of
from mcp_server.sessions.refusals import one_line
from mcp_server.sessions.standing import GONE, Standing, handed_down
from mcp_server.store.ids import mint


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What `task` was asked for, checked."""

    agent: AgentDefinition
    description: str
    prompt: str
    background: bool
    narrowed: tuple[str, ...] | None
    inherited: tuple[RulingRecord, ...]
    trace: str = ""
    """Where telemetry tells of the call."""


def subagents(definitions: Mapping[str, AgentDefinition]) -> tuple[AgentDefinition, ...]:
    """Those that `task` may start, by name."""
    fit = (agent for agent in definitions.values() if agent.mode in ("subagent", "all") and not agent.hidden)
    return tuple(sorted(fit, key=lambda agent: agent.name))


def wanted_agent(definitions: Mapping[str, AgentDefinition], name: str, *, resumed: bool = False) -> AgentDefinition:
    """The subagent of that name. `resumed`: there was one, when the task to go on with was started.

    Raises:
        ToolFailure: It is primary, hidden or unknown; names those that there are.
    """
    known = subagents(definitions)
    found = next((agent for agent in known if agent.name == name), None)
    if found is not None:
        return found
    listed = "; ".join(f"{agent.name} ({agent.description})" for agent in known) or "none is defined"
    primary = definitions.get(name)
    why = "is a primary agent and cannot be sent" if primary is not None and not primary.hidden else "is not a subagent"
    if resumed and primary is None:
        why = f"can do no more: {GONE}; define it again, or start another agent without task_id. It {why}"
    raise ToolFailure(f"`{name}` {why}; subagents are: {listed}")


def inherited_rulings(standing: Standing, asked: Sequence[str] | None) -> tuple[RulingRecord, ...]:
    """The caller's own rulings that are to be handed down.

    Raises:
        NoSuchHandle: One is not the caller's, is unknown, or does not stand.
    """
    own: dict[str, RulingRecord] = {
        record.id: record
        for record in standing.rulings
        if record.ruling.session_id == standing.session.id and record.action is Action.ALLOW and record.ruling.digest is None
    }
    rulings = tuple(own[key] for key in (asked or ()) if key in own)
    if len(rulings) != len(set(asked or ())):
        raise NoSuchHandle("ruling")
    return rulings


async def start_child(deployment: Deployment, standing: Standing, call: ToolCall, errand: Errand) -> RunId:
    """Store a child session with its first run.

    Raises:
        ToolFailure: A limit of the tree, or one of the gateway, is reached.
    """
    caller = standing.session
    accounts = await _within_limits(deployment, standing)
    now = deployment.clock()
    session = child_record(standing, call, errand, now)
    run_id = child_ids(caller.id, call)[1]
    run = _run_of(session, run_id, errand, now)
    path = (*standing.path, session.agent)
    given, told = (TaskGiven(text=errand.prompt),), (events.ran(now, run, path, "started"),)
    try:
        await deployment.store.add_child(session, run, given, told, places_of(accounts))
    except NoPlace as full:
        raise crowded(deployment, accounts, full) from full
    await _hand_down(deployment, session, path, errand.inherited)
    return run_id


def child_record(standing: Standing, call: ToolCall, errand: Errand, now: float) -> SessionRecord:
    """The child that this very call starts."""
    caller = standing.session
    return SessionRecord(
        id=child_ids(caller.id, call)[0],
        principal=caller.principal,
        workspace=caller.workspace,
        agent=errand.agent.name,
        root_id=caller.root_id,
        parent_id=caller.id,
        depth=caller.depth + 1,
        root_agent=caller.root_agent,
        mode=errand.agent.permission_mode,
        narrowed=errand.narrowed,
        title=title_of(errand),
        created_at=now,
    )


async def resumable(deployment: Deployment, standing: Standing, task_id: str, errand: Errand) -> SessionRecord:
    """The ended child that may be given another run.

    Raises:
        NoSuchHandle: It is not the caller's.
        ToolFailure: It still runs, or is another agent's.
    """
    session, last = await child_of(deployment.store, standing.session, task_id)
    if last.state not in FINAL:
        raise _still_going(task_id, last.state)
    if session.agent != errand.agent.name:
        gone = "" if session.agent in standing.definitions else f" (and {GONE})"
        raise ToolFailure(f"task {task_id} is `{session.agent}`'s{gone}, not `{errand.agent.name}`'s; leave out task_id to start a new one")
    return session


async def resume_child(deployment: Deployment, standing: Standing, call: ToolCall, task_id: str, errand: Errand) -> RunId:
    """Give an ended child another run, under its caller's authority as it is now.

    Raises:
        NoSuchHandle: It is not the caller's.
        ToolFailure: It still runs, is another agent's, or a limit of the tree or one of the gateway is reached.
    """
    session = await resumable(deployment, standing, task_id, errand)
    accounts = await _within_limits(deployment, standing)
    now = deployment.clock()
    caller = standing.session
    moved = replace(session, parent_id=caller.id, root_id=caller.root_id, depth=caller.depth + 1, narrowed=errand.narrowed, ended_at=None)
    run = _run_of(moved, child_ids(caller.id, call)[1], errand, now)
    path = (*standing.path, session.agent)
    told = (events.ran(now, run, path, "resumed"),)
    try:
        resumed = await deployment.store.resume_child(moved, run, (TaskGiven(text=errand.prompt),), told, places_of(accounts))
    except NoPlace as full:
        raise crowded(deployment, accounts, full) from full
    if not resumed:
        raise _still_going(task_id, RunState.QUEUED)  # another call was first
    await _hand_down(deployment, moved, path, errand.inherited)
    return run.id


def _still_going(task_id: str, state: RunState) -> ToolFailure:
    return ToolFailure(f"task {task_id} has not ended ({state.value}); poll it with task_status, or cancel it with task_cancel")


def title_of(errand: Errand) -> str:
    """How a child is called in lists."""
    return f"{one_line(errand.description)} (@{errand.agent.name} subagent)"


def _run_of(session: SessionRecord, run_id: RunId, errand: Errand, now: float) -> RunRecord:
    return RunRecord(
        id=run_id,
        session_id=session.id,
        root_id=session.root_id,
        principal=session.principal,
        workspace=session.workspace,
        state=RunState.QUEUED,
        background=errand.background,
        description=errand.description,
        created_at=now,
        updated_at=now,
        trace=errand.trace,
    )


async def _within_limits(deployment: Deployment, standing: Standing) -> tuple[Account, ...]:
    """Where the child's run counts."""
    limits, caller = deployment.limits, standing.session
    if caller.depth + 1 > limits.depth:
        raise ToolFailure(f"children may stand at most {limits.depth} below the root; do this part yourself")
    running = await deployment.store.busy_children(caller.id)
    if running >= limits.children:
        raise ToolFailure(f"{running} children are at work already, no more than {limits.children} may; wait for one (task_status) first")
    return await admitted(deployment, caller.principal)


async def _hand_down(deployment: Deployment, child: SessionRecord, path: tuple[str, ...], rulings: tuple[RulingRecord, ...]) -> None:
    copies = tuple(handed_down(record, to=child.id, new_id=mint("rul")) for record in rulings)
    now = deployment.clock()
    told = tuple(
        events.ruled(now, copy, path, f"handed down from {record.id}", by=record.given_by)
        for copy, record in zip(copies, rulings, strict=True)
    )
    if copies:
        await deployment.store.add_rulings(copies, told)
