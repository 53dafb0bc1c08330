"""What the protocol room may do with calls that were answered with a handle. A part of `Front`.

A promised call goes on without a request, also after a restart, and is kept for a while after its end. It is its caller's: to every
other one, also to the same principal elsewhere or as another agent, there is no such call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.policy.values import CallId
from mcp_server.records import CallEnded, Prompt, PromptId, SessionRecord
from mcp_server.sessions.front import Caller, Sampling
from mcp_server.sessions.models.asks import ModelAsk


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A promised call as it stands."""

    call_id: CallId
    """Its handle: 160 random bits."""
    tool: str
    created_at: float
    changed_at: float
    """When anything of it last changed: its own state, its child's run, or a prompt."""
    kept_until: float | None
    """It may be gone after that time; None: not while it goes on."""
    words: str
    """Who does what now, or how it ended. One line, for people."""
    prompts: tuple[Prompt, ...] = ()
    """Open ones of this very call and of the tree below it, oldest first, without those that were put off."""
    turns: tuple[ModelAsk, ...] = ()
    """Turns of the tree below it that the client's own model may be asked for now, as far as its client lends one."""
    ended: CallEnded | None = None
    fault: str | None = None
    """The server itself failed, and there will be no result."""


class PromisedFront(Protocol):
    """The door to them."""

    async def promise(self, root: SessionRecord, call_id: CallId) -> Promised | None:
        """Let a call outlive its request. Stored when this returns. None: it has ended, or its caller has too many already.

        A call that was to go on in the background has ended for a request, but not here: it ends with what it started.
        """
        ...

    async def promised(self, caller: Caller, call_id: str, sampling: Sampling | None = None) -> Promised:
        """The call as it stands now. `sampling`: what the client that looks lends of its own model; None: that is not told.

        Raises:
            NoSuchHandle: Foreign, unknown, dropped, or no handle at all.
        """
        ...

    async def put_off(self, caller: Caller, call_id: CallId, prompts: Sequence[PromptId]) -> None:
        """The person closed these without a choice: the call shows them no more. They stay open."""
        ...

    async def cancel_promised(self, caller: Caller, call_id: CallId) -> None:
        """End it, with everything below it. Nothing happens to one that has ended.

        Raises:
            NoSuchHandle: As above.
        """
        ...
