"""What the protocol room may do: open roots, make calls, wait for them, answer prompts. Nothing else reaches a session.

Calls outlive requests. A request begins or rejoins a call, waits on it as long as it can, and leaves; the call goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import Principal
from mcp_server.records import Answer, CallEnded, Prompt, PromptId, SessionRecord
from mcp_server.sessions.models.asks import ModelAsk, NotSaid, Said
from mcp_server.settings.membership import Membership
from mcp_server.tools.base import Step, ToolSpec
from mcp_server.tools.hearing import Level, Logged
from mcp_server.tools.news import News
from mcp_server.tools.shelves import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A top-level caller: not a connection."""

    principal: Principal
    workspace: str
    agent: str
    membership: Membership | None = field(default=None, compare=False)
    """Who they are by the gateway's settings, as they stood when the request came. None: the settings do not speak of them."""

    def owns(self, root: SessionRecord) -> bool:
        """Is it a root of this very caller: principal, workspace and root agent?"""
        return (root.principal, root.workspace, root.agent) == (self.principal.key, self.workspace, self.agent)


class Sampling(IntEnum):
    """What one request's client lends of its own model."""

    NONE = 0
    TEXT = 1
    """A model that cannot be given tools."""
    TOOLS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The call has its result."""

    result: CallEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """The call goes on: it waits for a person, a child, or is just not done."""

    call_id: CallId
    prompts: tuple[Prompt, ...]
    """Open prompts that this request may show: those of the call's own tree; for `task` and `task_status` also
    those of the caller's background children. Oldest first."""
    text: str
    """For the model, when the request must leave now: what is waited for, who is asked, the command to answer with,
    and that the same call again continues."""
    structured: dict[str, Any] | None
    """For tools with an output schema (`task`, `task_status`): the state as it is."""
    turns: tuple[ModelAsk, ...] = ()
    """Turns that this request may put to its client's model: of the same sessions as `prompts`, as far as `Front.lends` said
    that it can. None of them is with another request now."""
    parting: bool = False
    """The server is ending: the request is to leave with these words, and nothing is to be put before anybody."""

    @property
    def ids(self) -> frozenset[str]:
        """Of everything that is open, prompts and turns."""
        return frozenset((*(prompt.id for prompt in self.prompts), *(ask.id for ask in self.turns)))


Settled = Ended | Open


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """An agent that `task` may send, as far as a client needs to know it."""

    name: str
    description: str


class Watch(Protocol):
    """One resource of another server of which a client has news."""

    async def changed(self) -> bool:
        """Has it changed since this was asked last, where rules let that be told now?"""
        ...

    def end(self) -> None:
        """The client wants to know no more."""
        ...


class Front(Protocol):
    """The door from the protocol to the sessions."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools of this deployment, in a fixed order."""
        ...

    def specs_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """Those of them that the caller is given, as they present themselves to them. The same for every connection of theirs."""
        ...

    async def foreign_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """Those of other servers that the caller is given. Waits for servers, each within its bounds."""
        ...

    def wrong_with(self, caller: Caller, name: str) -> tuple[str, ...]:
        """Why another server's tool may not be there, a line each."""
        ...

    async def foreign(self, caller: Caller, name: str) -> ToolSpec | None:
        """One of them; None: there is none of that name for this caller."""
        ...

    async def shelves_for(self, caller: Caller, server: str | None = None) -> tuple[Shelf, ...]:
        """What other servers, or one of them, offer beside tools, as far as the caller is given it. Waits for them, within their bounds."""
        ...

    @property
    def news(self) -> News:
        """That what other servers offer may have changed."""
        ...

    def reader(self, caller: Caller, server: str, kind: str) -> ToolSpec | None:
        """What a client's request for such a thing is made as: a call that `begin` takes. None: it is not for this caller."""
        ...

    async def watch(self, caller: Caller, root: SessionRecord, server: str, own: str) -> Watch:
        """Have news of a resource of another server. `own`: as that server calls it. `news` wakes whoever waits for it.

        Raises:
            NoSuchHandle: It is not for this caller.
            ToolFailure: There will be none: rules do not allow it, or the server tells none.
        """
        ...

    def agents(self, caller: Caller) -> tuple[Offered, ...]:
        """Those that `task` may send, by name, as the files say now. The same for every connection of theirs."""
        ...

    async def open_root(self, caller: Caller, *, shared: bool) -> SessionRecord:
        """A root session. `shared`: the caller's one root (2026-07-28 over HTTP), made if there is none or it has ended;
        else a new one.
        """
        ...

    async def leave_root(self, root_id: SessionId) -> None:
        """The connection of a root that is not shared has ended. Its children go on."""
        ...

    async def ended(self, root_id: SessionId) -> bool:
        """Was a root ended by somebody while its connection goes on? It then needs another."""
        ...

    async def begin(self, root: SessionRecord, tool: str, arguments: Mapping[str, Any]) -> CallId:
        """Start a call, or rejoin one of the same caller, tool and arguments that no request is attached to. Not a point of
        cancellation.
        """
        ...

    async def rejoin(self, root: SessionRecord, call_id: str) -> CallId:
        """Attach to a call begun before, by the id from a sealed request state; also after a restart.

        Raises:
            NoSuchHandle: It is not a call of this caller.
        """
        ...

    def listens(self, call_id: CallId, level: Level | None) -> None:
        """What the request that is attached to the call wants to hear of log messages. Until it is said: nothing."""
        ...

    def heard(self, call_id: CallId) -> Sequence[Logged]:
        """What was said since, oldest first. Each is given out once."""
        ...

    async def hears(self, call_id: CallId) -> None:
        """Until something is said."""
        ...

    def lends(self, call_id: CallId, sampling: Sampling) -> None:
        """What the request that is attached to the call lends of its client's model. Until it is said: nothing is known."""
        ...

    async def settle(self, root: SessionRecord, call_id: CallId, *, seconds: float, shown: Sequence[str] = ()) -> Settled:
        """Wait until the call has ended, or a prompt or a turn is open that is not in `shown`, or one of `shown` is open no more,
        or `seconds` have passed. May be called again after the end: a call is kept until its requests have left.
        """
        ...

    async def detach(self, call_id: CallId, *, back: bool = False) -> None:
        """The request leaves, in any case. A call that has not ended goes on; one whose end was told is forgotten. `back`: its client was
        told how to come back for the rest, so that another server may wait for a person meanwhile.
        """
        ...

    async def show(self, prompt_id: PromptId) -> Prompt | None:
        """It is being put before a person now: its deadline starts. None: it is open no more, show nothing."""
        ...

    async def answer(self, prompt_id: PromptId, answer: Answer, principal: Principal) -> bool:
        """The first valid answer wins. False: it was not open any more (or is not this principal's)."""
        ...

    async def unaskable(self, prompt_id: PromptId, reason: str) -> None:
        """The client declined by itself or gave a nonsense answer: close it as *nobody could be asked*."""
        ...

    async def put_turn(self, call_id: CallId, ask_id: str) -> bool:
        """It is put to the client's model now, by this call's request, and by no other meanwhile. False: do not, it is not wanted."""
        ...

    def turn_wanted(self, ask_id: str) -> bool:
        """Is it still to be answered? Where not, take it back from the client."""
        ...

    def turn_said(self, call_id: CallId, ask_id: str, said: Said | NotSaid) -> None:
        """What the client's model came to. Counts only from the call that put it last, and once."""
        ...

    def turn_back(self, call_id: CallId, ask_id: str) -> None:
        """The request could not stay until the answer: another may put it."""
        ...

    def progress(self, call_id: CallId) -> str:
        """A few words on where the call is now, e.g. `build › explore: grep "TODO"`."""
        ...

    def steps(self, call_id: CallId, after: int) -> tuple[Sequence[Step], int]:
        """What the call's own tool told of how far it is, after the step of that number, from 1; and the number of the last."""
        ...

    async def step(self, call_id: CallId, after: int) -> None:
        """Until it has told one after that."""
        ...
