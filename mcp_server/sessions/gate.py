"""The one way to a tool.

`attempt` takes a call as far as it goes now: to a result, or to what it waits for. Coming back to a parked call is the same
`attempt` again: it reads what has become of the prompt or the child, and decides afresh under the rules as they are then.
The audit event is written before the act that it permits; if that write fails, the tool does not run.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import structlog

from mcp_server.errors import LeaseLost, NoSuchHandle, OutcomeUnknown, StoreError, ToolFailure
from mcp_server.policy.values import Action, ToolCall
from mcp_server.records import AuditEvent, CallEnded, Ending
from mcp_server.sessions import refusals
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.looking import Look, expired, look
from mcp_server.sessions.preparing import Prepared, Preparing, permitted
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.resuming import come_back
from mcp_server.sessions.turnstile import Place, Turnstile
from mcp_server.sessions.work import Asks, AwaitsChild, AwaitsPerson, Changing, Parked, Work
from mcp_server.tools.base import ToolResult

log = structlog.get_logger(__name__)

RACES = 5
"""How often a call is decided again because a ruling it relied on was used up or revoked in between; then it closes."""


class Gate:
    """Decides, asks, records, and only then runs."""

    def __init__(self, deployment: Deployment, preparing: Preparing, prompting: Prompting) -> None:
        self._deployment = deployment
        self._preparing = preparing
        self._prompting = prompting
        self._places = Turnstile(deployment.limits.tool_calls, deployment.steady)

    async def attempt(self, work: Work) -> CallEnded | Parked:
        """Take the call as far as it goes now.

        Raises:
            StoreError: The result could not be written down; the call will be found unfinished.
        """
        seen = await look(self._deployment, self._prompting, work)
        earlier = await come_back(self._deployment, work, seen, first=True)
        if earlier is not None:
            return await self._told(work, seen, earlier)
        prepared = await self._preparing.prepare(work, seen)
        if isinstance(prepared, CallEnded) or prepared.spec.waits or prepared.spec.by_ownership:
            return await self._decided(work, seen, prepared)
        async with self._places.held(work.session.root_id) as place:
            if place.waited:  # what holds now is what counts
                seen = await look(self._deployment, self._prompting, work)
                prepared = await self._preparing.prepare(work, seen)
            return await self._decided(replace(work, halted=partial(_halted, work, place)), seen, prepared)

    async def rejoin(self, work: Work) -> CallEnded | Parked:
        """For a call that was started before: what it waits for or has come to; where nothing is known of that, it was interrupted."""
        await self._prompting.forsake(work.call.id)
        seen = await look(self._deployment, self._prompting, work)
        earlier = await come_back(self._deployment, work, seen, first=False)
        return await self._told(work, seen, earlier or refusals.interrupted(work.call))

    # ---- the decision ---------------------------------------------------------------------------

    async def _decided(self, work: Work, seen: Look, prepared: Prepared | CallEnded) -> CallEnded | Parked:
        if isinstance(prepared, CallEnded):
            return await self._ended(work, prepared, ())
        for _ in range(RACES):
            try:
                settled = await self._written(work, seen, prepared)
            except LeaseLost:
                raise  # another process has the run; it decides
            except StoreError as error:
                words = f"nothing was done: what was decided could not be written down ({error})"
                return await self._ended(work, refusals.failed(work.call, words), ())
            if isinstance(settled, Prepared):
                return await self._run(work, seen, settled)
            if settled is not None:
                return settled
            seen = await look(self._deployment, self._prompting, work)
        words = "nothing was done: the rulings it relied on changed while it was decided; try again"
        return await self._ended(work, refusals.failed(work.call, words), ())

    async def _written(self, work: Work, seen: Look, prepared: Prepared) -> CallEnded | Parked | Prepared | None:
        """Write down what is decided, with the use of what it rests on, before anything is done. Prepared: the call may run now, as
        this. None: a ruling that it rests on is gone; decide again.
        """
        with self._deployment.telemetry.decision(work.session, work.call, work.trace) as told:
            verdict = seen.verdict(prepared.requests, by_ownership=prepared.spec.by_ownership)
            event, mode = seen.decision(work.call, verdict, told.trace), seen.authority.mode
            match verdict.action:
                case Action.DENY:
                    settled = await self._ended(work, refusals.by_rule(work.call, seen.standing.path, verdict, mode), (event,))
                case Action.ASK:
                    if isinstance(prepared.tool, Changing):
                        await prepared.tool.asked(prepared.context)
                    event = seen.again(event, verdict, await expired(self._deployment, seen))
                    prompt_id = await self._prompting.open_approval(work, seen.standing, verdict, mode, seen.digest, event)
                    settled = AwaitsPerson(prompt_id=prompt_id)
                case Action.ALLOW:
                    started = await work.journal.started(work.call, (event,), verdict.rulings)
                    settled = permitted(prepared, seen, verdict) if started else None
            if settled is not None:
                told.decided(event)
        return settled

    # ---- the act --------------------------------------------------------------------------------

    async def _run(self, work: Work, seen: Look, prepared: Prepared) -> CallEnded | Parked:
        try:
            return await self._act(work, seen, prepared)
        except StoreError as error:
            if work.run is not None:
                raise  # the transcript has its start alone: whoever goes on with the run finds it interrupted
            words = f"it ran, in part or whole, and what came of it could not be written down ({error}); look before you do it again"
            return refusals.failed(work.call, words)

    async def _act(self, work: Work, seen: Look, prepared: Prepared) -> CallEnded | Parked:
        with self._deployment.telemetry.execution(work.session, work.call, work.trace) as told:
            elicit = self._prompting.eliciting(work, seen.standing, seen.digest, may_ask=seen.authority.may_ask)
            context = replace(prepared.context, trace=told.trace, elicit=elicit)
            result = await self._result(work, replace(prepared, context=context))
            told.came_to(ending_of(result))
        match result:
            case AwaitsPerson() | AwaitsChild():
                return result
            case Asks():
                return AwaitsPerson(prompt_id=await self._prompting.open_question(work, seen.standing, result.subject, seen.digest))
            case CallEnded():
                return await self._told(work, seen, result)
            case ToolResult():
                return await self._told(work, seen, as_ended(work.call, result), result.ran)

    async def _result(self, work: Work, prepared: Prepared) -> ToolResult | Parked | Asks | CallEnded:
        try:
            return await prepared.tool.run(prepared.arguments, prepared.context)
        except OutcomeUnknown as error:
            return refusals.interrupted(work.call, str(error))
        except (ToolFailure, NoSuchHandle) as error:
            return refusals.failed(work.call, str(error))
        except StoreError:
            raise
        except Exception:  # a tool's own fault must not take the run with it; its text may hold anything, so the model is not told it
            log.exception("tool failed", tool=work.call.tool, session=work.session.id)
            return refusals.failed(work.call, f"`{work.call.tool}` failed in a way nobody expected; its outcome is unknown")

    async def _ended(self, work: Work, ended: CallEnded, happened: Sequence[AuditEvent]) -> CallEnded:
        await work.journal.ended(ended, happened)
        return ended

    async def _told(self, work: Work, seen: Look, result: CallEnded | Parked, ran: str = "") -> CallEnded | Parked:
        """A call that was let through or parked has come to its end, or waits on."""
        if not isinstance(result, CallEnded):
            return result
        return await self._ended(work, result, (seen.outcome(work, result, self._deployment.clock(), ran),))


@asynccontextmanager
async def _halted(work: Work, place: Place) -> AsyncGenerator[None]:
    """Nothing is held while a person thinks."""
    async with work.halted(), place.left():
        yield


def ending_of(result: ToolResult | Parked | Asks | CallEnded) -> Ending | None:
    """How the tool's work ended. None: it waits."""
    match result:
        case ToolResult(failed=failed):
            return Ending.FAILED if failed else Ending.DONE
        case CallEnded(ending=ending):
            return ending
        case AwaitsPerson() | AwaitsChild() | Asks():
            return None


def as_ended(call: ToolCall, result: ToolResult) -> CallEnded:
    """A tool's result as the transcript keeps it."""
    ending = Ending.FAILED if result.failed else Ending.DONE
    return CallEnded(call_id=call.id, tool=call.tool, ending=ending, parts=result.parts, structured=result.structured)
