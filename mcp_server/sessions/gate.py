"""The one way to a tool.

`attempt` takes a call as far as it goes now: to a result, or to what it waits for. Coming back to a parked call is the same
`attempt` again: it reads what has become of the prompt or the child, and decides afresh under the rules as they are then.
The audit event is written before the act that it permits; if that write fails, the tool does not run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog
from pydantic import BaseModel, ValidationError

from mcp_server.errors import LeaseLost, NoSuchHandle, StoreError, ToolFailure
from mcp_server.policy.chain import Authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, PathValue, PlainValue, Request, ToolCall
from mcp_server.policy.verdicts import Step, Verdict
from mcp_server.records import (
    FINAL,
    AuditEvent,
    CallEnded,
    Choice,
    Ending,
    Prompt,
    PromptState,
    QuestionSubject,
)
from mcp_server.sessions import events, refusals
from mcp_server.sessions.answered import question_result
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import call_digest, child_ids
from mcp_server.sessions.models.base import MALFORMED
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.reports import child_result
from mcp_server.sessions.standing import Standing, authority_for, standing_of
from mcp_server.sessions.work import AnyTool, Asks, AwaitsChild, AwaitsPerson, Parked, SessionContext, Work
from mcp_server.tools.base import ToolResult

log = structlog.get_logger(__name__)

RACES = 5
"""How often a call is decided again because a ruling it relied on was used up or revoked in between; then it closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that makes sense, with all that its decision needs."""

    tool: AnyTool
    arguments: BaseModel
    context: SessionContext
    requests: tuple[Request, ...]
    digest: str


class Gate:
    """Decides, asks, records, and only then runs."""

    def __init__(self, deployment: Deployment, tools: Mapping[str, AnyTool], prompting: Prompting) -> None:
        self._deployment = deployment
        self._tools = tools
        self._prompting = prompting

    async def attempt(self, work: Work) -> CallEnded | Parked:
        """Take the call as far as it goes now.

        Raises:
            StoreError: The result could not be written down; the call will be found unfinished.
        """
        standing = await standing_of(self._deployment, work.session)
        digest = call_digest(work.session.principal, work.session.id, work.call.tool, work.call.arguments)
        prompts = await self._prompting.for_digest(work.session.id, digest)
        earlier = await self._resumed(work, standing, prompts)
        if earlier is not None:
            return await self._told(work, standing, digest, earlier)
        authority = authority_for(standing, work.call.id, digest, prompts)
        prepared = self._prepare(work, standing, authority, digest)
        if isinstance(prepared, CallEnded):
            return await self._ended(work, prepared, ())
        return await self._decided(work, standing, prepared, authority)

    async def rejoin(self, work: Work) -> CallEnded | Parked | None:
        """For a call that was started before: what it waits for or has come to. None: nothing is known of it."""
        standing = await standing_of(self._deployment, work.session)
        digest = call_digest(work.session.principal, work.session.id, work.call.tool, work.call.arguments)
        prompts = await self._prompting.for_digest(work.session.id, digest)
        earlier = await self._resumed(work, standing, prompts)
        return None if earlier is None else await self._told(work, standing, digest, earlier)

    # ---- coming back to a parked call -----------------------------------------------------------

    async def _resumed(self, work: Work, standing: Standing, prompts: Sequence[Prompt]) -> CallEnded | Parked | None:
        child = await self._child(work, standing)
        if child is not None:
            return child
        mine = [prompt for prompt in prompts if work.call.id in prompt.calls]
        if not mine:
            return None
        prompt = mine[-1]
        match prompt.state:
            case PromptState.OPEN:
                return AwaitsPerson(prompt_id=prompt.id)
            case PromptState.ANSWERED if isinstance(prompt.subject, QuestionSubject):
                return question_result(work.call, prompt)
            case PromptState.ANSWERED if prompt.answer is None or prompt.answer.choice not in (Choice.DENY, Choice.DENY_SESSION):
                return None
            case _:
                return refusals.by_prompt(work.call, standing.path, prompt)

    async def _child(self, work: Work, standing: Standing) -> CallEnded | Parked | None:
        run = await self._deployment.store.run(child_ids(work.session.id, work.call)[1])
        if run is None:
            return None
        if run.state not in FINAL and not run.background:
            return AwaitsChild(run_id=run.id)
        return await child_result(self._deployment, work.call, run, standing)

    # ---- a fresh look ---------------------------------------------------------------------------

    def _prepare(self, work: Work, standing: Standing, authority: Authority, digest: str) -> Prepared | CallEnded:
        tool = self._tools.get(work.call.tool)
        shown = standing.definition.tools if standing.definition else None
        if tool is None or (shown is not None and work.call.tool not in shown):
            known = ", ".join(name for name in self._tools if shown is None or name in shown)
            return refusals.failed(work.call, f"{work.session.agent} has no tool `{work.call.tool}`; it has: {known or 'none'}")
        if MALFORMED in work.call.arguments:
            return refusals.failed(
                work.call, f"`{work.call.tool}` needs a JSON object of arguments; what came was none, and nothing was done"
            )
        context = self._context(work, standing, authority)
        try:
            arguments = tool.spec.arguments.model_validate(dict(work.call.arguments))
            requests = tool.requests(arguments, context)
        except ValidationError as error:
            return refusals.failed(work.call, malformed(work.call, error))
        except (ToolFailure, NoSuchHandle) as error:
            return refusals.failed(work.call, str(error))
        if work.looping:
            requests = (*requests, Request(permission="doom_loop", values=(PlainValue(text=work.call.tool),)))
        return Prepared(tool=tool, arguments=arguments, context=context, requests=requests, digest=digest)

    def _context(self, work: Work, standing: Standing, authority: Authority) -> SessionContext:
        def readable(paths: Sequence[PathValue]) -> Sequence[bool]:
            return [may_read(authority, path) for path in paths]

        return SessionContext(
            session_id=work.session.id,
            session_path=standing.path,
            workspace=Path(work.session.workspace),
            outputs=self._deployment.outputs / work.session.id,
            store=self._deployment.store,
            readable=readable,
            progress=work.progress,
            environment=self._deployment.environment,
            call=work.call,
            standing=standing,
            run=work.run,
            authority=authority,
        )

    # ---- the decision ---------------------------------------------------------------------------

    async def _decided(self, work: Work, standing: Standing, prepared: Prepared, authority: Authority) -> CallEnded | Parked:
        for _ in range(RACES):
            verdict = self._verdict(prepared, authority)
            try:
                settled = await self._written(work, standing, prepared, verdict)
            except LeaseLost:
                raise  # another process has the run; it decides
            except StoreError as error:
                words = f"nothing was done: what was decided could not be written down ({error})"
                return await self._ended(work, refusals.failed(work.call, words), ())
            if settled is True:
                return await self._run(work, standing, prepared)
            if settled is not False:
                return settled
            standing = await standing_of(self._deployment, work.session)
            prompts = await self._prompting.for_digest(work.session.id, prepared.digest)
            authority = authority_for(standing, work.call.id, prepared.digest, prompts)
        words = "nothing was done: the rulings it relied on changed while it was decided; try again"
        return await self._ended(work, refusals.failed(work.call, words), ())

    async def _written(self, work: Work, standing: Standing, prepared: Prepared, verdict: Verdict) -> CallEnded | Parked | bool:
        """Write down what was decided, with the use of what it rests on, before anything is done. True: the call may run now.
        False: a ruling that it rests on is gone; decide again.
        """
        event = self._event(work, standing, prepared, verdict)
        match verdict.action:
            case Action.DENY:
                return await self._ended(work, refusals.by_rule(work.call, standing.path, verdict), (event,))
            case Action.ASK:
                return await self._asked(work, standing, prepared, verdict, event)
            case Action.ALLOW:
                return await work.journal.started(work.call, (event,), verdict.rulings)

    def _verdict(self, prepared: Prepared, authority: Authority) -> Verdict:
        if not prepared.requests and prepared.tool.spec.by_ownership:
            return Verdict(action=Action.ALLOW, step=Step.ALLOW, parts=(), requests=())
        return decide(authority, prepared.requests, digest=prepared.digest)

    def _event(self, work: Work, standing: Standing, prepared: Prepared, verdict: Verdict) -> AuditEvent:
        given = {record.id: record.given_by for record in standing.rulings}
        by = ", ".join(dict.fromkeys(given[ruling] for ruling in verdict.rulings if ruling in given))
        return events.decision(self._deployment.clock(), work.session, standing.path, work.call, prepared.digest, verdict, by)

    async def _asked(self, work: Work, standing: Standing, prepared: Prepared, verdict: Verdict, event: AuditEvent) -> Parked:
        prompt_id = await self._prompting.open_approval(work, standing, verdict, prepared.context.authority.mode, prepared.digest, event)
        return AwaitsPerson(prompt_id=prompt_id)

    # ---- the act --------------------------------------------------------------------------------

    async def _run(self, work: Work, standing: Standing, prepared: Prepared) -> CallEnded | Parked:
        try:
            return await self._act(work, standing, prepared)
        except StoreError as error:
            if work.run is not None:
                raise  # the transcript has its start alone: whoever goes on with the run finds it interrupted
            words = f"it ran, in part or whole, and what came of it could not be written down ({error}); look before you do it again"
            return refusals.failed(work.call, words)

    async def _act(self, work: Work, standing: Standing, prepared: Prepared) -> CallEnded | Parked:
        result = await self._result(work, prepared)
        if isinstance(result, AwaitsPerson | AwaitsChild):
            return result
        if isinstance(result, Asks):
            return AwaitsPerson(prompt_id=await self._prompting.open_question(work, standing, result.subject, prepared.digest))
        ended = result if isinstance(result, CallEnded) else as_ended(work.call, result)
        done = events.outcome(self._deployment.clock(), work.session, standing.path, work.call, prepared.digest, ended)
        return await self._ended(work, ended, (done,))

    async def _result(self, work: Work, prepared: Prepared) -> ToolResult | Parked | Asks | CallEnded:
        try:
            return await prepared.tool.run(prepared.arguments, replace(prepared.context, judged=prepared.requests))
        except (ToolFailure, NoSuchHandle) as error:
            return refusals.failed(work.call, str(error))
        except StoreError:
            raise
        except (
            Exception
        ):  # a tool's own fault must not take the run with it; the text may hold anything, so the model is told nothing of it
            log.exception("tool failed", tool=work.call.tool, session=work.session.id)
            return refusals.failed(work.call, f"`{work.call.tool}` failed in a way nobody expected; its outcome is unknown")

    async def _ended(self, work: Work, ended: CallEnded, happened: Sequence[AuditEvent]) -> CallEnded:
        await work.journal.ended(ended, happened)
        return ended

    async def _told(self, work: Work, standing: Standing, digest: str, result: CallEnded | Parked) -> CallEnded | Parked:
        """A call that was parked has come to its end, or waits on."""
        if not isinstance(result, CallEnded):
            return result
        done = events.outcome(self._deployment.clock(), work.session, standing.path, work.call, digest, result)
        return await self._ended(work, result, (done,))


def may_read(authority: Authority, path: PathValue) -> bool:
    """Would `read` be allowed for this file now, without asking anybody?"""
    return decide(authority, (Request(permission="read", values=(path,)),)).action is Action.ALLOW


def malformed(call: ToolCall, error: ValidationError) -> str:
    """What is wrong with a call's arguments, for the model."""
    faults = [f"- {'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}" for fault in error.errors()]
    return f"`{call.tool}` was called with arguments it does not take; nothing was done:\n" + "\n".join(faults)


def as_ended(call: ToolCall, result: ToolResult) -> CallEnded:
    """A tool's result as the transcript keeps it."""
    ending = Ending.FAILED if result.failed else Ending.DONE
    return CallEnded(call_id=call.id, tool=call.tool, ending=ending, parts=result.parts, structured=result.structured)
