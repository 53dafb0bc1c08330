"""A small but real `Front` for tests of the protocol room: calls run as tasks, ask, wait and end as their scripts say.

No policy, no store, no models. Everything a script does follows from the tool and its arguments, so the same scripts work in a
process of their own.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from mcp_server.errors import NoSuchHandle
from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import Principal
from mcp_server.records import (
    Answer,
    CallEnded,
    Ending,
    Prompt,
    PromptId,
    PromptState,
    SessionRecord,
    Subject,
    TextPart,
)
from mcp_server.sessions.front import Caller, Ended, Offered, Open, Sampling, Settled, Watch
from mcp_server.sessions.models.asks import NotSaid, Said
from mcp_server.tools.base import Step, ToolSpec
from mcp_server.tools.hearing import Level, Logged
from mcp_server.tools.news import News
from mcp_server.tools.shelves import Shelf


@dataclass(kw_only=True)
class ScriptedCall:
    """One call under way."""

    front: "ScriptedFront"
    id: CallId
    root: SessionRecord
    tool: str
    arguments: Mapping[str, Any]
    attached: int = 0
    delivered: bool = False
    result: CallEnded | None = None

    async def ask(self, subject: Subject, *, path: tuple[str, ...], background: bool = False) -> Prompt:
        """Open a prompt and wait until it is closed."""
        return await self.front.ask(self, subject, path=path, background=background)

    def end(self, ending: Ending, text: str, structured: dict[str, Any] | None = None) -> CallEnded:
        """What the script ends with."""
        return CallEnded(call_id=self.id, tool=self.tool, ending=ending, parts=(TextPart(text=text),), structured=structured)


Script = Callable[[ScriptedCall], Awaitable[CallEnded]]


@dataclass(frozen=True, kw_only=True)
class ScriptedTool:
    """A tool and what its calls do."""

    spec: ToolSpec
    script: Script
    shows_background: bool = False


@dataclass(kw_only=True)
class _Open:
    prompt: Prompt
    call: ScriptedCall


@dataclass(kw_only=True)
class ScriptedFront:
    """The front. Use `scripted_front` to start one."""

    tools: Mapping[str, ScriptedTool]
    group: TaskGroup
    roots: dict[SessionId, SessionRecord] = field(default_factory=dict[SessionId, SessionRecord])
    left: list[SessionId] = field(default_factory=list[SessionId])
    calls: dict[CallId, ScriptedCall] = field(default_factory=dict[CallId, ScriptedCall])
    prompts: dict[PromptId, _Open] = field(default_factory=dict[PromptId, _Open])
    closed: list[Prompt] = field(default_factory=list[Prompt])
    unwinding: int = 0
    """Rounds of the event loop that a wait takes to end once it was cut short, as one does that finishes reading from a disk."""
    _changed: anyio.Event = field(default_factory=anyio.Event)

    # ---- the contract -------------------------------------------------------

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    def specs_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        return self.specs()

    async def foreign_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        return ()

    def wrong_with(self, caller: Caller, name: str) -> tuple[str, ...]:
        return ()

    async def foreign(self, caller: Caller, name: str) -> ToolSpec | None:
        return None

    async def shelves_for(self, caller: Caller, server: str | None = None) -> tuple[Shelf, ...]:
        return ()

    async def watch(self, caller: Caller, root: SessionRecord, server: str, own: str) -> Watch:
        raise NoSuchHandle("session")

    @property
    def news(self) -> News:
        return News()

    def listens(self, call_id: CallId, level: Level | None) -> None:
        """Nothing is said."""

    def heard(self, call_id: CallId) -> Sequence[Logged]:
        return ()

    async def hears(self, call_id: CallId) -> None:
        await anyio.sleep_forever()

    def reader(self, caller: Caller, server: str, kind: str) -> ToolSpec | None:
        return None

    def agents(self, caller: Caller) -> tuple[Offered, ...]:
        return (Offered(name="explore", description="Looks."), Offered(name="writer", description="Writes."))

    async def open_root(self, caller: Caller, *, shared: bool) -> SessionRecord:
        root_id = SessionId(f"ses_{'shared' if shared else len(self.roots) + 1}")
        if root_id not in self.roots:
            self.roots[root_id] = SessionRecord(
                id=root_id,
                principal=caller.principal.key,
                workspace=caller.workspace,
                agent=caller.agent,
                root_id=root_id,
                parent_id=None,
                depth=0,
                root_agent=caller.agent,
                created_at=0.0,
            )
        return self.roots[root_id]

    async def ended(self, root_id: SessionId) -> bool:
        return False

    async def leave_root(self, root_id: SessionId) -> None:
        self.left.append(root_id)
        self._change()

    async def begin(self, root: SessionRecord, tool: str, arguments: Mapping[str, Any]) -> CallId:
        self.tools[tool].spec.arguments.model_validate(arguments)
        for call in self.calls.values():
            same = (call.root.principal, call.tool, _canonical(call.arguments)) == (root.principal, tool, _canonical(arguments))
            if same and not call.attached and not call.delivered:
                call.attached += 1
                return call.id
        call = ScriptedCall(front=self, id=CallId(f"call_{len(self.calls) + 1}"), root=root, tool=tool, arguments=arguments, attached=1)
        self.calls[call.id] = call
        self._change()
        self.group.start_soon(self._run, call)
        return call.id

    async def rejoin(self, root: SessionRecord, call_id: str) -> CallId:
        call = self.calls.get(CallId(call_id))
        if call is None or call.root.principal != root.principal:
            raise NoSuchHandle("call")
        call.attached += 1
        return call.id

    async def settle(self, root: SessionRecord, call_id: CallId, *, seconds: float, shown: Sequence[str] = ()) -> Settled:
        call = self.calls[call_id]
        try:
            with anyio.move_on_after(seconds):
                while call.result is None and {prompt.id for prompt in self._open_for(call)} == set(shown):
                    await self._changed.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                for _ in range(self.unwinding):
                    await checkpoint()
            raise
        if call.result is not None:
            call.delivered = True
            return Ended(result=call.result)
        return Open(call_id=call_id, prompts=self._open_for(call), text=self._waiting_text(call), structured=self._waiting_state(call))

    async def detach(self, call_id: CallId, *, back: bool = False) -> None:
        self.calls[call_id].attached -= 1
        self._change()

    async def show(self, prompt_id: PromptId) -> Prompt | None:
        entry = self.prompts.get(prompt_id)
        return None if entry is None else entry.prompt

    async def answer(self, prompt_id: PromptId, answer: Answer, principal: Principal) -> bool:
        entry = self.prompts.get(prompt_id)
        if entry is None or entry.prompt.principal != principal.key:
            return False
        self._close(entry, PromptState.ANSWERED, answer=answer)
        return True

    async def unaskable(self, prompt_id: PromptId, reason: str) -> None:
        if (entry := self.prompts.get(prompt_id)) is not None:
            self._close(entry, PromptState.UNASKABLE, reason=reason)

    def lends(self, call_id: CallId, sampling: Sampling) -> None:
        """Nothing here asks a client's model."""

    async def put_turn(self, call_id: CallId, ask_id: str) -> bool:
        return False

    def turn_wanted(self, ask_id: str) -> bool:
        return False

    def turn_said(self, call_id: CallId, ask_id: str, said: Said | NotSaid) -> None:
        """As above."""

    def turn_back(self, call_id: CallId, ask_id: str) -> None:
        """As above."""

    def progress(self, call_id: CallId) -> str:
        return f"{self.calls[call_id].tool} goes on"

    def steps(self, call_id: CallId, after: int) -> tuple[Sequence[Step], int]:
        return (), after

    async def step(self, call_id: CallId, after: int) -> None:
        await anyio.sleep_forever()

    # ---- for scripts and tests ----------------------------------------------

    async def ask(self, call: ScriptedCall, subject: Subject, *, path: tuple[str, ...], background: bool) -> Prompt:
        prompt = Prompt(
            id=PromptId(f"prm_{len(self.prompts) + len(self.closed) + 1}"),
            principal=call.root.principal,
            root_id=call.root.id,
            session_id=SessionId(f"ses_of_{path[-1]}"),
            session_path=path,
            calls=(call.id,),
            digest="0" * 64,
            subject=subject,
            created_at=0.0,
            background=background,
        )
        self.prompts[prompt.id] = _Open(prompt=prompt, call=call)
        self._change()
        while prompt.id in self.prompts:
            await self._changed.wait()
        return next(closed for closed in self.closed if closed.id == prompt.id)

    def close_all(self, state: PromptState, answer: Answer | None = None) -> None:
        """Somebody else closes every open prompt."""
        for entry in tuple(self.prompts.values()):
            self._close(entry, state, answer=answer)

    def calls_attached(self) -> int:
        """How many requests stay with calls."""
        return sum(call.attached for call in self.calls.values())

    async def until(self, condition: Callable[["ScriptedFront"], bool]) -> None:
        """Wait for something to have happened."""
        while not condition(self):
            await self._changed.wait()

    async def _run(self, call: ScriptedCall) -> None:
        call.result = await self.tools[call.tool].script(call)
        self._change()

    def _open_for(self, call: ScriptedCall) -> tuple[Prompt, ...]:
        wide = self.tools[call.tool].shows_background
        return tuple(entry.prompt for entry in self.prompts.values() if entry.call is call or (wide and entry.prompt.background))

    def _waiting_text(self, call: ScriptedCall) -> str:
        asked = ", ".join(prompt.id for prompt in self._open_for(call))
        return f"{call.tool} goes on; waiting for a person: {asked}; answer with `remit approvals`; the same call again continues"

    def _waiting_state(self, call: ScriptedCall) -> dict[str, Any] | None:
        return None if self.tools[call.tool].spec.output is None else {"id": call.id, "state": "waiting", "refused": []}

    def _close(self, entry: _Open, state: PromptState, *, answer: Answer | None = None, reason: str = "") -> None:
        del self.prompts[entry.prompt.id]
        self.closed.append(replace(entry.prompt, state=state, answer=answer, reason=reason))
        self._change()

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def _canonical(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), sort_keys=True)


@asynccontextmanager
async def scripted_front(tools: Sequence[ScriptedTool]) -> AsyncGenerator[ScriptedFront]:
    """A running front; its calls end with it."""
    async with anyio.create_task_group() as group:
        yield ScriptedFront(tools={tool.spec.name: tool for tool in tools}, group=group)
        group.cancel_scope.cancel()
