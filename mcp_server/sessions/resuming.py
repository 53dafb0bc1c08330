"""Coming back to a call that was parked: what has become of its child or its prompt."""

from mcp_server.records import FINAL, CallEnded, Choice, PromptState, QuestionSubject
from mcp_server.sessions import refusals
from mcp_server.sessions.answered import question_result
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import SPAWNS, child_ids
from mcp_server.sessions.looking import Look
from mcp_server.sessions.reports import child_result
from mcp_server.sessions.standing import Standing
from mcp_server.sessions.work import AwaitsChild, AwaitsPerson, Parked, Work


async def come_back(deployment: Deployment, work: Work, look: Look, *, first: bool) -> CallEnded | Parked | None:
    """What a call that was parked before waits for or has come to. None: it was not, or a person has allowed it: decide afresh.
    `first`: it was not begun, so an answer that is found is found for the first time.
    """
    child = await _child(deployment, work, look.standing)
    if child is not None:
        return child
    mine = [prompt for prompt in look.prompts if work.call.id in prompt.calls]
    if not mine:
        return None
    prompt = mine[-1]
    if first and prompt.calls[0] == work.call.id and prompt.answer is not None:  # of calls that share a prompt one tells of it
        deployment.telemetry.prompt(prompt, work.call.tool, prompt.answer.at)
    match prompt.state:
        case PromptState.OPEN:
            return AwaitsPerson(prompt_id=prompt.id)
        case PromptState.ANSWERED if isinstance(prompt.subject, QuestionSubject):
            return question_result(work.call, prompt)
        case PromptState.ANSWERED if prompt.answer is None or prompt.answer.choice not in (Choice.DENY, Choice.DENY_SESSION):
            return None
        case _:
            return refusals.by_prompt(work.call, look.standing.path, prompt)


async def _child(deployment: Deployment, work: Work, standing: Standing) -> CallEnded | Parked | None:
    run = await deployment.store.run(child_ids(work.session.id, work.call)[1]) if work.call.tool == SPAWNS else None
    if run is None:
        return None
    if run.state not in FINAL and (work.lasting or not run.background):
        return AwaitsChild(run_id=run.id)
    return await child_result(deployment, work.call, run, standing)
