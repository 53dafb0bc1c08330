"""A client's own call that outlives its request: answered with a handle, and what the store promises to keep of it.

A part of `Store`, held by `tests/store/test_conformance_promised.py`. It has no life of its own: whether it goes on, waits or has ended
follows from the call, its prompts and its child's run, as for a call that a request waits for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import RulingId, SessionId
from mcp_server.records import AuditEvent, CallEnded, PromptId


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedCall:
    """One such call. Its id is the handle."""

    call: ToolCall
    root_id: SessionId
    """The root session that makes it."""
    principal: str
    workspace: str
    created_at: float
    updated_at: float
    begun: bool = False
    """It was permitted and started. Without an end after a crash, its outcome is unknown."""
    waits_for: str | None = None
    """The prompt or the run whose end it waits for, where it was last seen to wait."""
    put_off: tuple[PromptId, ...] = ()
    """Prompts that the person closed without a choice when this call showed them; it shows them no more."""
    ended: CallEnded | None = None
    fault: str | None = None
    """What went wrong with the server itself, where that ended it."""
    cancel_requested: str | None = None
    """Who asked to cancel; None: nobody."""
    owner: str | None = None
    """The process that carries it out now; None: it waits, or nobody does."""
    lease_until: float | None = None
    trace: str = ""
    """Where telemetry tells of the request that began it: W3C `traceparent`."""

    @property
    def id(self) -> CallId:
        """The call's own."""
        return self.call.id

    @property
    def is_over(self) -> bool:
        """It has a result, or will never have one."""
        return self.ended is not None or self.fault is not None


class PromisedCalls(Protocol):
    """The part of a store that keeps promised calls. What it raises is what `Store` raises."""

    async def add_promised(self, promised: PromisedCall) -> None: ...
    async def promised(self, call_id: str, principal: str) -> PromisedCall | None: ...
    async def promised_open(self, *, workspaces: Sequence[str] | None = None, principal: str | None = None) -> tuple[PromisedCall, ...]:
        """Those that are not over, oldest first."""
        ...

    async def claim_promised(self, call_id: CallId, *, owner: str, now: float, seconds: float) -> PromisedCall | None:
        """Take it, to carry it out, if nobody holds it, its lease has lapsed, or it is `owner`'s already; None otherwise, and where it is
        over. Not synced: a loss of power that takes it back ends whoever held it.
        """
        ...

    async def park_promised(self, call_id: CallId, *, owner: str, now: float, waits_for: str | None) -> None:
        """Give it up, with what it waits for. Not an error if it is lost already. Not synced."""
        ...

    async def begin_promised(
        self, call_id: CallId, *, owner: str, now: float, events: Sequence[AuditEvent], uses: Sequence[RulingId]
    ) -> bool:
        """It is about to be done: written with the audit and the use of rulings in one transaction. False, and nothing written, where
        one of `uses` no longer stands (as in `use_rulings`). Raises `LeaseLost` where `owner` does not hold it.
        """
        ...

    async def end_promised(
        self,
        call_id: CallId,
        *,
        owner: str,
        now: float,
        ended: CallEnded | None,
        fault: str | None = None,
        events: Sequence[AuditEvent] = (),
    ) -> None:
        """It is over, with its audit in one transaction. Does nothing where it was over already. Raises `LeaseLost` where `owner` does not
        hold it.
        """
        ...

    async def put_off_promised(self, call_id: str, principal: str, prompts: Sequence[PromptId], *, now: float) -> None:
        """Note prompts that it shall show no more."""
        ...

    async def cancel_promised(self, call_id: str, principal: str, by: str, *, now: float) -> None:
        """Note who asked first to cancel it; one that is over stays as it is."""
        ...

    async def drop_promised(self, *, ended_before: float) -> int:
        """Take out for good what was over before that time. Returns how many."""
        ...
