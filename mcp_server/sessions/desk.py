"""The `Front`: what the protocol room talks to. It keeps the client's calls and lets requests attach to them and leave."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from mcp_server.errors import NoSuchHandle, RemitError, StoreError
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import Principal
from mcp_server.records import Answer, CallEnded, Prompt, PromptId, PromptState, SessionRecord
from mcp_server.sessions.answers import close_with
from mcp_server.sessions.clientcalls import ClientCall, RootJournal, forget, keep, kept_call
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.digests import call_digest
from mcp_server.sessions.front import Caller, Ended, Offered, Settled
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.lookups import same_caller
from mcp_server.sessions.roots import Roots
from mcp_server.sessions.spawning import subagents
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.view import CARRIERS, Views
from mcp_server.sessions.work import AnyTool, AwaitsChild, Work, key_of
from mcp_server.store.ids import is_id, mint
from mcp_server.tools.base import ToolSpec

log = structlog.get_logger(__name__)

ORPHANS = "orphans"
"""The bell for prompts that no request holds: whoever may carry them looks."""


class Desk:
    """See `Front`."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, gate: Gate, tools: Mapping[str, AnyTool]) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._gate = gate
        self._tools = tools
        self._roots = Roots(deployment)
        self._journal = RootJournal(deployment)
        self._calls: dict[CallId, ClientCall] = {}
        self._views = Views(deployment, supervisor, self._roots, self._calls)
        self._group: TaskGroup | None = None
        supervisor.holders = self._prompt_changed

    def open(self, group: TaskGroup) -> None:
        """Calls live in `group`."""
        self._group = group

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def agents(self) -> tuple[Offered, ...]:
        found: dict[str, Offered] = {}
        for workspace in self._deployment.workspaces:
            for agent in subagents(self._deployment.rulebook.definitions(workspace)):
                found.setdefault(agent.name, Offered(name=agent.name, description=agent.description))
        return tuple(found[name] for name in sorted(found))

    # ---- roots ----------------------------------------------------------------------------------

    async def open_root(self, caller: Caller, *, shared: bool) -> SessionRecord:
        return await self._roots.open(caller, shared=shared)

    async def leave_root(self, root_id: SessionId) -> None:
        for call in [call for call in self._calls.values() if call.root.id == root_id]:
            self._drop(call)
        root = next(iter(await self._deployment.store.chain(root_id)), None)
        if root is not None and root.ended_at is None:
            await self._roots.end(root)

    # ---- calls ----------------------------------------------------------------------------------

    async def begin(self, root: SessionRecord, tool: str, arguments: Mapping[str, Any]) -> CallId:
        digest = call_digest(root.principal, root.id, tool, arguments)
        for call in self._calls.values():
            if call.root.id == root.id and call.digest == digest and call.attached == 0 and not call.told:
                return self._attach(call)
        call = ClientCall(root=root, call=ToolCall(id=CallId(mint("call")), tool=tool, arguments=dict(arguments)), digest=digest)
        self._calls[call.call.id] = call
        return self._attach(call)

    async def rejoin(self, root: SessionRecord, call_id: str) -> CallId:
        call = self._calls.get(CallId(call_id)) or await self._kept(root, call_id)
        if call is None or not same_caller(call.root, root):
            raise NoSuchHandle("call")
        return self._attach(self._calls.setdefault(call.call.id, call))

    async def _kept(self, root: SessionRecord, call_id: str) -> ClientCall | None:
        """A call that was written down, under whichever of the caller's roots: after a restart the connection has another one."""
        if not is_id("call", call_id):
            return None
        for owner in await self._roots.of_caller(root):
            kept = await kept_call(self._deployment.store, owner.id, call_id)
            if kept is not None:
                digest = call_digest(owner.principal, owner.id, kept.tool, kept.arguments)
                return ClientCall(root=owner, call=kept, digest=digest, kept=True)
        return None

    def _attach(self, call: ClientCall) -> CallId:
        call.attached += 1
        self._go_on(call)
        return call.call.id

    def _go_on(self, call: ClientCall) -> None:
        """Take it further. Without a request attached it waits: nobody would see what it does."""
        if self._group is None or call.attached == 0 or call.scope is not None or call.ended is not None or call.fault is not None:
            return
        call.scope = anyio.CancelScope()
        self._group.start_soon(self._act, call, call.scope)

    async def _act(self, call: ClientCall, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await self._attempt(call)
            except RemitError as error:
                call.fault = error
            except Exception as error:  # the request is told that the server failed; the log has the rest
                log.exception("a call failed", tool=call.call.tool)
                call.fault = error
        call.scope = None
        if call.parked is not None and call.ended is None:
            await self._rest(call)
        elif call.ended is None and call.fault is None and call.call.id in self._calls:
            self._go_on(call)  # laid aside, and asked for again before it had stopped
        self._supervisor.wakeups.ring(call.call.id)

    async def _attempt(self, call: ClientCall) -> None:
        call.parked = None
        result = await self._gate.attempt(
            Work(session=call.root, call=call.call, journal=self._journal, progress=partial(self._progressed, call))
        )
        if isinstance(result, CallEnded):
            call.ended = result
            self._views.gone(call)
            await forget(self._deployment.store, call)
            return
        call.parked = result
        if isinstance(result, AwaitsChild) and (run := await self._deployment.store.run(result.run_id)) is not None:
            self._views.parked_on(call, run.session_id)
        await keep(self._deployment.store, call)

    async def _rest(self, call: ClientCall) -> None:
        if call.parked is None:
            return
        key = key_of(call.parked)
        self._supervisor.wakeups.wait(call.call.id, [key], partial(self._go_on, call))
        try:
            over = await self._supervisor.is_over(key)
        except StoreError:
            return  # whoever watches the store looks again
        if over:
            self._supervisor.wakeups.over(key)

    async def _progressed(self, call: ClientCall, text: str) -> None:
        call.said = text

    # ---- waiting --------------------------------------------------------------------------------

    async def settle(self, root: SessionRecord, call_id: CallId, *, seconds: float, shown: Sequence[PromptId] = ()) -> Settled:
        call = self._calls.get(call_id)
        if call is None or not same_caller(call.root, root):
            raise NoSuchHandle("call")
        until = time.monotonic() + seconds
        while True:
            with self._supervisor.wakeups.listening(call.call.id, ORPHANS) as bell:
                settled = await self._look(call, shown)
                left = until - time.monotonic()
                if settled is not None:
                    return settled
                if left <= 0:
                    return await self._views.open(call)
                with anyio.move_on_after(left):
                    await bell.wait()

    async def _look(self, call: ClientCall, shown: Sequence[PromptId]) -> Settled | None:
        call.told = call.fault is not None or call.ended is not None
        if call.fault is not None:
            raise call.fault
        if call.ended is not None:
            return Ended(result=call.ended)
        current = await self._views.prompts(call)
        ids = {prompt.id for prompt in current}
        if ids - set(shown) or set(shown) - ids:
            return await self._views.open(call)
        return None

    async def detach(self, call_id: CallId) -> None:
        call = self._calls.get(call_id)
        if call is None:
            return
        call.attached = max(0, call.attached - 1)
        if call.attached:
            return
        self._supervisor.wakeups.ring(ORPHANS)
        if call.told:
            self._forget(call)
            return
        if call.parked is not None or call.scope is None:
            return
        if call.call.tool in CARRIERS:
            await self._lay_aside(call)
        else:
            self._drop(call)

    async def _lay_aside(self, call: ClientCall) -> None:
        """It only looks and carries prompts. The request may be back with their answers, also after a restart: then it looks again."""
        if call.scope is not None:
            call.scope.cancel()
        await keep(self._deployment.store, call)

    def _drop(self, call: ClientCall) -> None:
        """Nobody waits for it, and it acts or will never be asked for again: end what it does. A parked call stays kept."""
        if call.scope is not None:
            call.scope.cancel()
        self._supervisor.wakeups.forget(call.call.id)
        self._forget(call)

    def _forget(self, call: ClientCall) -> None:
        self._views.gone(call)
        self._calls.pop(call.call.id, None)

    def _prompt_changed(self, prompt: Prompt) -> None:
        """Ring the request that holds it; where none does, those that may carry it."""
        holder = self._views.holder(prompt)
        self._supervisor.wakeups.ring(ORPHANS if holder is None else holder.call.id)

    def progress(self, call_id: CallId) -> str:
        call = self._calls.get(call_id)
        return "" if call is None else self._views.progress(call)

    # ---- people ---------------------------------------------------------------------------------

    async def show(self, prompt_id: PromptId) -> Prompt | None:
        return await self._supervisor.prompting.show(prompt_id)

    async def answer(self, prompt_id: PromptId, answer: Answer, principal: Principal) -> bool:
        prompt = await self._deployment.store.prompt(prompt_id, principal.key)
        if prompt is None or prompt.state is not PromptState.OPEN:
            return False
        closed = await close_with(self._deployment.store, prompt, answer, once_seconds=self._deployment.limits.once_seconds)
        await self._supervisor.prompting.note(prompt_id, principal.key)
        return closed

    async def unaskable(self, prompt_id: PromptId, reason: str) -> None:
        prompt = self._supervisor.prompting.open_ones.get(prompt_id)
        if prompt is not None:
            await self._supervisor.prompting.close(prompt, PromptState.UNASKABLE, reason)
