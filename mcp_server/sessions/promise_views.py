"""Promised calls as those see them who have a handle. Looks come from the store, so that any process can answer."""

from collections.abc import Sequence

from mcp_server.records import CallEnded, Prompt, RunRecord
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import SPAWNS, child_ids
from mcp_server.sessions.models.asks import ModelAsk
from mcp_server.sessions.promised import Promised
from mcp_server.sessions.promises import KEPT_SECONDS
from mcp_server.sessions.refusals import one_line
from mcp_server.sessions.reports import task_state
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.trees import prompts_below
from mcp_server.sessions.view import Views
from mcp_server.store.promised import PromisedCall


class PromiseViews:
    """Looks at promised calls; changes nothing."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, views: Views) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._calls = views.calls
        self._carrying = views.carrying

    async def seen(self, record: PromisedCall) -> Promised:
        """It as it stands now."""
        run = await self.below(record)
        prompts = () if record.is_over else self._prompts(record, run)
        times = [record.updated_at, *([run.updated_at] if run else []), *(prompt.created_at for prompt in prompts)]
        return Promised(
            call_id=record.id,
            tool=record.call.tool,
            created_at=record.created_at,
            changed_at=record.updated_at if record.is_over else max(times),
            kept_until=record.updated_at + KEPT_SECONDS if record.is_over else None,
            words=one_line(await self._words(record, run, prompts)),
            prompts=tuple(prompt for prompt in prompts if prompt.id not in record.put_off and not prompt.asked_of),
            turns=() if record.is_over else await self._turns(record, run),
            ended=record.ended,
            fault=record.fault,
        )

    async def below(self, record: PromisedCall) -> RunRecord | None:
        """The run that the call has started."""
        if record.call.tool != SPAWNS:
            return None
        return await self._deployment.store.run(child_ids(record.root_id, record.call)[1])

    def _prompts(self, record: PromisedCall, run: RunRecord | None) -> tuple[Prompt, ...]:
        open_ones = self._supervisor.prompting.open_ones
        if run is not None:
            return prompts_below(open_ones, run.session_id)
        return tuple(prompt for prompt in open_ones.values() if record.id in prompt.calls)

    async def _turns(self, record: PromisedCall, run: RunRecord | None) -> tuple[ModelAsk, ...]:
        call = self._calls.get(record.id)
        if call is None or run is None:
            return ()
        return tuple(ask for ask in await self._carrying.turns(call) if run.session_id in ask.chain)

    async def _words(self, record: PromisedCall, run: RunRecord | None, prompts: Sequence[Prompt]) -> str:
        if record.ended is not None:
            return _ended_words(record.ended)
        if record.fault is not None:
            return record.fault
        if prompts:
            return "waits for a person: " + "; ".join(self._deployment.ways.lines(prompts))
        asked = () if run is None else self._deployment.asks.below(run.session_id).lines
        if asked:
            return "waits for a turn of the client's own model: " + "; ".join(asked)
        if run is None:
            call = self._calls.get(record.id)
            said = call.steps.words if call is not None else ""
            return f"{record.call.tool}: {said}" if said else f"{record.call.tool} is under way"
        session = await self._deployment.store.session(run.session_id, run.principal)
        doing = "" if session is None else self._supervisor.activity(session)
        return f"{doing or 'a subagent is at work'} ({task_state(run.state, asking=False)}; task_status knows it as {run.session_id})"


def _ended_words(ended: CallEnded) -> str:
    refused = f"; {len(ended.refused)} call(s) did not happen" if ended.refused else ""
    return f"{ended.tool}: {ended.ending.value}{refused}"
