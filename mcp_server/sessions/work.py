"""One call on its way through the gate: who makes it, where it is written down, and what it may come to."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from mcp_server.elicited import ElicitationSubject
from mcp_server.policy.chain import Authority
from mcp_server.policy.values import Request, ToolCall
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import AuditEvent, CallEnded, Prompt, PromptId, QuestionSubject, RunId, RunRecord, SessionRecord
from mcp_server.sessions.standing import Standing
from mcp_server.store.protocol import Lease
from mcp_server.tools.base import Step, Tool, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.hearing import Deaf, Hearer


class Journal(Protocol):
    """Where a call's start and end are written: a run's transcript, or the audit alone for a client's own call."""

    async def started(self, call: ToolCall, events: Sequence[AuditEvent], uses: Sequence[RulingId]) -> bool:
        """Before the act, in one transaction with the use of the rulings that permit it. If this raises, the act does not happen.

        False, and nothing written: one of the rulings stands no longer.
        """
        ...

    async def ended(self, ended: CallEnded, events: Sequence[AuditEvent]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One call, and whose it is."""

    session: SessionRecord
    call: ToolCall
    journal: Journal
    lease: Lease | None = None
    """What its run is held by. None for a client's own call."""
    run: RunRecord | None = None
    """The run whose model made it; None for a client's own call."""
    looping: bool = False
    """It is the third of its like running."""
    lasting: bool = False
    """It needs no request to go on, so it ends with what it started, be that in the background."""
    background: bool = False
    """Nobody's request waits for it: its prompts ride on `task` and `task_status` only."""
    trace: str = ""
    """Where telemetry tells of whoever made it: W3C `traceparent`."""
    progress: Callable[[Step], Awaitable[None]]
    hearer: Hearer = field(default_factory=Deaf)
    """Who hears log messages of it."""
    halted: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """What it waits for inside is a person, while it is under way: that is no work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitsPerson:
    """The call waits for a prompt."""

    prompt_id: PromptId


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitsChild:
    """The call waits for a child's run."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitsModel:
    """No call, but the run itself waits: for a turn of a client's own model."""

    ask_id: str


Parked = AwaitsPerson | AwaitsChild
"""What a call may wait for."""

Rest = Parked | AwaitsModel
"""What a run may wait for."""


def key_of(parked: Rest) -> str:
    """The id whose end is waited for."""
    match parked:
        case AwaitsPerson(prompt_id=prompt_id):
            return prompt_id
        case AwaitsChild(run_id=run_id):
            return run_id
        case AwaitsModel(ask_id=ask_id):
            return ask_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """A tool's way to say: this needs the person's answer, not their permission."""

    subject: QuestionSubject


Elicit = Callable[[ElicitationSubject], Awaitable[Prompt | None]]
"""Put before the person what a server asks while its call is under way, and stay until that is open no more: the prompt as it was closed.
None: nobody may be asked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext(ToolContext):
    """What the tools of this room are lent beyond what every tool gets."""

    call: ToolCall
    elicit: Elicit
    standing: Standing
    run: RunRecord | None
    authority: Authority
    trace: str = ""
    """Where telemetry tells of this very execution: what it starts is told of below that."""


class SessionTool(Protocol):
    """A tool that acts on sessions: it may park its call. Otherwise as `tools.base.Tool`."""

    @property
    def spec(self) -> ToolSpec: ...

    def requests(self, arguments: Any, context: SessionContext) -> tuple[Request, ...]: ...

    async def run(self, arguments: Any, context: SessionContext) -> ToolResult | Parked | Asks: ...


@runtime_checkable
class Foreseeing(Protocol):
    """A session tool whose call may be in vain, whatever rules and people say."""

    async def foresee(self, arguments: Any, context: SessionContext) -> None:
        """Look before anybody is asked. Changes nothing.

        Raises:
            ToolFailure: It cannot be done.
            NoSuchHandle: An id is not the caller's.
        """
        ...


@runtime_checkable
class Changing(Protocol):
    """A session tool that may be another one by the time that a person has answered."""

    async def asked(self, context: SessionContext) -> None:
        """A person is about to be asked about this call: see that their answer counts for no other tool.

        Raises:
            StoreError: That cannot be written down.
        """
        ...


AnyTool = Tool | SessionTool
