"""The server's own small jobs for a model: summing up a long result, naming a session. Nobody waits for one that fails."""

from dataclasses import replace

import anyio
import structlog

from mcp_server.errors import ModelError, ModelNotConfigured
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import ModelTurn, RunId, SessionRecord, StoredEntry, TaskGiven
from mcp_server.sessions.allowance import charge_of, used_up
from mcp_server.sessions.book import Job
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.models.base import TurnRequest

log = structlog.get_logger(__name__)

BOUND = 20.0
"""Seconds: a summary that takes longer is not worth the wait, the preview is there anyway."""
LONGEST = 60_000
"""Characters of a text that are given to the model: enough to sum it up by."""
TITLE = 80
"""Characters of a title."""


async def small_job(deployment: Deployment, job: Job, session: SessionRecord, text: str, trace: str = "") -> str | None:
    """What the job's agent says of the text. None: there is no such agent, no model, it failed, or the day's use is over."""
    if await used_up(deployment, session.principal) is not None:
        return None
    try:
        with anyio.move_on_after(BOUND):
            turn = await job_turn(deployment, job, session, text[:LONGEST], trace=trace)
            charge = await charge_of(deployment, session.principal, turn.usage)
            if charge is not None:
                await deployment.store.charge(charge, at=deployment.clock())
            return turn.text.strip() or None
    except ModelError as error:
        log.info("a small job was not done", job=job, error=str(error))
    return None


async def job_turn(
    deployment: Deployment, job: Job, session: SessionRecord, text: str, *, seq: int = 1, chain: tuple[SessionId, ...] = (), trace: str = ""
) -> ModelTurn:
    """The answer of the job's agent to the text. Bound it yourself.

    Args:
        deployment: Lends the models.
        job: Which job.
        session: Whose job it is.
        text: What the agent is given.
        seq: Of the transcript's last entry, where a run comes for the answer again.
        chain: As in `TurnRequest`: where that run can rest until a client's own model has answered.
        trace: As in `TurnRequest`.

    Raises:
        ModelNotConfigured: There is no such agent, or no model for it.
        ModelError: It failed.
        AnswerAwaited: A client's own model is asked for it; not without `chain`.
    """
    rulebook = deployment.rulebook.pinned(session.workspace)
    definition = rulebook.role(job, session.workspace)
    if definition is None:
        raise ModelNotConfigured(f"no agent does the job `{job}`: `roles.{job}` of the settings names none that is there")
    model = rulebook.model(definition)
    if model is None:
        raise ModelNotConfigured(f"no model is set for agent `{definition.name}`")
    given = StoredEntry(seq=seq, run_id=RunId(""), at=deployment.clock(), entry=TaskGiven(text=text))
    request = TurnRequest(
        session_id=session.id,
        agent=definition.name,
        model=model,
        fallback=rulebook.fallback(definition),
        system=definition.prompt,
        transcript=(given,),
        tools=(),
        temperature=definition.temperature,
        top_p=definition.top_p,
        options=definition.options,
        chain=chain,
        trace=trace,
    )
    return await deployment.backend.turn(request)


async def name_session(deployment: Deployment, root: SessionRecord, task: str, trace: str = "") -> None:
    """Give a root session that has no title the one that the `title` agent finds for its first task."""
    said = await small_job(deployment, "title", root, task, trace)
    current = await deployment.store.session(root.id, root.principal)  # it may have ended meanwhile
    if said and current is not None:
        await deployment.store.update_session(replace(current, title=" ".join(said.split())[:TITLE]))
