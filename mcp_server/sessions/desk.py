"""The `Front`: what the protocol room talks to. It keeps the client's calls and lets requests attach to them and leave."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import Principal
from mcp_server.records import Answer, Prompt, PromptId, PromptState, SessionRecord
from mcp_server.sessions.answers import close_with
from mcp_server.sessions.callbook import CallBook
from mcp_server.sessions.clientcalls import ClientCall
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller, Ended, Level, Logged, ModelAsk, News, NotSaid, Offered, Said, Sampling, Settled, Shelf, Watch
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.roots import Roots
from mcp_server.sessions.sendable import given, sendable
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.view import ORPHANS, Views
from mcp_server.tools.base import Step, ToolSpec


class Desk:
    """See `Front`."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, gate: Gate, toolbox: Toolbox) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._roots = Roots(deployment)
        self._views = Views(deployment, supervisor, self._roots)
        self.book = CallBook(deployment, supervisor, gate, toolbox.own, self._roots, self._views)
        self._parting = False
        supervisor.holders = self._prompt_changed
        deployment.asks.changed = self._ask_changed

    def open(self, group: TaskGroup) -> None:
        """Calls live in `group`."""
        self.book.open(group)

    def part(self) -> None:
        """The server is ending: requests that wait for calls leave with words, now and from now on. The calls go on."""
        self._parting = True
        self._supervisor.wakeups.ring_all()

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._toolbox.specs()

    def specs_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        return given(self.specs(), caller, self.agents(caller))

    async def foreign_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        return await self._toolbox.foreign_for(caller)

    def wrong_with(self, caller: Caller, name: str) -> tuple[str, ...]:
        return self._toolbox.wrong_with(caller.principal.key, name)

    async def foreign(self, caller: Caller, name: str) -> ToolSpec | None:
        return await self._toolbox.foreign(caller, name)

    async def shelves_for(self, caller: Caller, server: str | None = None) -> tuple[Shelf, ...]:
        return await self._toolbox.shelves_for(caller, server)

    @property
    def news(self) -> News:
        return self._deployment.upstreams.news

    def reader(self, caller: Caller, server: str, kind: str) -> ToolSpec | None:
        return self._toolbox.reader(caller, server, kind)

    async def watch(self, caller: Caller, root: SessionRecord, server: str, own: str) -> Watch:
        return await self._toolbox.watch(caller, root, server, own)

    def agents(self, caller: Caller) -> tuple[Offered, ...]:
        return sendable(self._deployment, caller)

    # ---- roots ----------------------------------------------------------------------------------

    async def open_root(self, caller: Caller, *, shared: bool) -> SessionRecord:
        return await self._roots.open(caller, shared=shared)

    async def leave_root(self, root_id: SessionId) -> None:
        self.book.leave(root_id)
        await self._withdraw_unshown(root_id)
        root = next(iter(await self._deployment.store.chain(root_id)), None)
        if root is not None and root.ended_at is None:
            await self._roots.end(root)
        self._deployment.upstreams.left(root_id)

    async def ended(self, root_id: SessionId) -> bool:
        return bool(await self._roots.ended_by(root_id))

    async def _withdraw_unshown(self, root_id: SessionId) -> None:
        """Of the root's own calls: nobody comes back for them any more, but by a handle. One that was shown may be answered by a retry."""
        prompting = self._supervisor.prompting
        unshown = [one for one in prompting.open_ones.values() if one.session_id == root_id and one.shown_at is None]
        for prompt in [one for one in unshown if not self._views.lasts(one)]:
            await prompting.close(prompt, PromptState.WITHDRAWN, "the connection that asked has ended")

    # ---- calls ----------------------------------------------------------------------------------

    async def begin(self, root: SessionRecord, tool: str, arguments: Mapping[str, Any]) -> CallId:
        return self.book.begin(root, tool, arguments)

    async def rejoin(self, root: SessionRecord, call_id: str) -> CallId:
        return await self.book.rejoin(root, call_id)

    async def detach(self, call_id: CallId, *, back: bool = False) -> None:
        await self.book.detach(call_id, back=back)

    # ---- waiting --------------------------------------------------------------------------------

    async def settle(self, root: SessionRecord, call_id: CallId, *, seconds: float, shown: Sequence[str] = ()) -> Settled:
        call = self.book.find(root, call_id)
        until = time.monotonic() + seconds
        while True:
            with self._supervisor.wakeups.listening(call.call.id, ORPHANS) as bell:
                settled = await self._look(call, shown)
                left = until - time.monotonic()
                if isinstance(settled, Ended):
                    return settled
                if self._parting:
                    return replace(await self._views.open(call), parting=True)
                if settled is not None:
                    return settled
                if left <= 0:
                    return await self._views.open(call)
                with anyio.move_on_after(left):
                    await bell.wait()

    async def _look(self, call: ClientCall, shown: Sequence[str]) -> Settled | None:
        call.told = call.fault is not None or call.ended is not None
        if call.fault is not None:
            raise call.fault
        if call.ended is not None:
            return Ended(result=call.ended)
        prompts, turns = await self._views.prompts(call), await self._views.carrying.turns(call)
        ids = {*(prompt.id for prompt in prompts), *(ask.id for ask in turns)}
        if ids - set(shown) or set(shown) - ids:
            return await self._views.open(call)
        return None

    def _prompt_changed(self, prompt: Prompt) -> None:
        """Ring the request that holds it; where none does, those that may carry it."""
        holder = self._views.holder(prompt)
        self._supervisor.wakeups.ring(ORPHANS if holder is None else holder.call.id)

    def listens(self, call_id: CallId, level: Level | None) -> None:
        if (call := self._views.calls.get(call_id)) is not None:
            call.earshot.level = level

    def heard(self, call_id: CallId) -> Sequence[Logged]:
        call = self._views.calls.get(call_id)
        return () if call is None else call.earshot.take()

    async def hears(self, call_id: CallId) -> None:
        call = self._views.calls.get(call_id)
        await (anyio.sleep_forever() if call is None else call.earshot.wait())

    # ---- turns of the client's own model --------------------------------------------------------

    def lends(self, call_id: CallId, sampling: Sampling) -> None:
        call = self._views.calls.get(call_id)
        if call is not None:
            call.sampling = sampling

    async def put_turn(self, call_id: CallId, ask_id: str) -> bool:
        return await self._views.carrying.put(call_id, ask_id)

    def turn_wanted(self, ask_id: str) -> bool:
        return self._deployment.asks.is_open(ask_id)

    def turn_said(self, call_id: CallId, ask_id: str, said: Said | NotSaid) -> None:
        self._deployment.asks.answer(ask_id, call_id, said)

    def turn_back(self, call_id: CallId, ask_id: str) -> None:
        self._deployment.asks.back(ask_id, call_id)

    def _ask_changed(self, ask: ModelAsk) -> None:
        """Wake the run that asked, where it is over; ring the request that holds it, or those that may carry it."""
        wakeups = self._supervisor.wakeups
        if not self._deployment.asks.is_open(ask.id):
            wakeups.over(ask.id)
        holder = self._views.holder_of(ask.chain)
        wakeups.ring(*ask.chain, ORPHANS if holder is None else holder.call.id)

    def progress(self, call_id: CallId) -> str:
        call = self._views.calls.get(call_id)
        return "" if call is None else self._views.progress(call)

    def steps(self, call_id: CallId, after: int) -> tuple[Sequence[Step], int]:
        call = self._views.calls.get(call_id)
        return ((), after) if call is None else call.steps.after(after)

    async def step(self, call_id: CallId, after: int) -> None:
        if (call := self._views.calls.get(call_id)) is not None:
            await call.steps.wait(after)
        else:
            await anyio.sleep_forever()

    # ---- people ---------------------------------------------------------------------------------

    async def show(self, prompt_id: PromptId) -> Prompt | None:
        return await self._supervisor.prompting.show(prompt_id)

    async def answer(self, prompt_id: PromptId, answer: Answer, principal: Principal) -> bool:
        prompt = await self._deployment.store.prompt(prompt_id, principal.key)
        if prompt is None or prompt.state is not PromptState.OPEN:
            return False
        closed = await close_with(self._deployment.store, prompt, answer)
        await self._supervisor.prompting.note(prompt_id, principal.key)
        return closed

    async def unaskable(self, prompt_id: PromptId, reason: str) -> None:
        prompt = self._supervisor.prompting.open_ones.get(prompt_id)
        if prompt is not None:
            await self._supervisor.prompting.close(prompt, PromptState.UNASKABLE, reason)
