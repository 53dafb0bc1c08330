"""What a store promises. SQLite keeps it today; `tests/store/test_conformance_*` hold any back end to it.

Every method that takes a principal answers as if what is not that principal's did not exist.
A write raises `StoreLocked`, `StoreDamaged`, `StoreFull`, or plain `StoreError` where it does not fit what is there (an id twice, a session
unknown or of another principal); nothing is half written. A read may raise the first two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.policy.verdicts import RulingId, SessionId
from mcp_server.records import (
    Answer,
    AuditEvent,
    Change,
    Entry,
    Prompt,
    PromptId,
    PromptState,
    RulingRecord,
    RunId,
    RunRecord,
    SessionRecord,
    StoredEntry,
)
from mcp_server.store.api_keys import ApiKeys
from mcp_server.store.credentials import Credentials
from mcp_server.store.ledger import Charge, Ledger, Place
from mcp_server.store.people import People
from mcp_server.store.promised import PromisedCalls
from mcp_server.store.proof import Proof
from mcp_server.store.revoked import Revocations
from mcp_server.store.spent import Spent
from mcp_server.store.upstreams import UpstreamMemory

ENDED_BY = "ended_by"
"""The state key of a root that somebody ended, in place of its connection: who. Nothing is started below it any more."""

LONGEST_LEASE = 300.0
"""Seconds that a lease may be given for. One that ends later than so far ahead is a clock's that was set back since: it holds nobody up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to advance one run, until it lapses or somebody with a larger fence takes it."""

    run_id: RunId
    owner: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAudit:
    """An audit event with its place in the one order."""

    seq: int
    event: AuditEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A tree that has come to rest."""

    root_id: SessionId
    heard_at: float
    """When anything of it was last written to the audit."""


class Store(PromisedCalls, ApiKeys, Credentials, People, Ledger, Revocations, UpstreamMemory, Protocol):
    """Sessions, runs, transcripts, prompts, rulings, promised calls, keys, credentials, claims, use, other servers, audit, small state."""

    # sessions
    async def add_session(self, session: SessionRecord) -> None: ...
    async def session(self, session_id: str, principal: str) -> SessionRecord | None: ...
    async def update_session(self, session: SessionRecord) -> None:
        """The whole record anew. With another parent or root its descendants, and the runs, prompts and rulings of all of them, move
        along; the audit stays where it happened.
        """
        ...

    async def chain(self, session_id: SessionId) -> tuple[SessionRecord, ...]:
        """The session and its ancestors, root first. Empty where it is unknown."""
        ...

    async def children(self, session_id: SessionId) -> tuple[SessionRecord, ...]: ...
    async def sessions(
        self, principal: str, *, workspace: str | None = None, roots: bool = False, limit: int = 200
    ) -> tuple[SessionRecord, ...]:
        """Newest first. `roots`: only those without a parent."""
        ...

    async def principals(self, beginning: str) -> tuple[str, ...]:
        """Those that have a session and begin so, in order. `beginning` is ASCII and not empty."""
        ...

    # runs
    async def add_run(self, run: RunRecord, entries: Sequence[Entry]) -> None:
        """The run and its first entries, in one transaction."""
        ...

    async def add_child(
        self, session: SessionRecord, run: RunRecord, entries: Sequence[Entry], events: Sequence[AuditEvent], places: Sequence[Place] = ()
    ) -> None:
        """A child session, its first run and their audit, in one transaction. `places`: where the run counts; raises `NoPlace`, and
        nothing is written, where one of them has none left. So with `ToolFailure`, where somebody ended the root session.
        """
        ...

    async def resume_child(
        self, session: SessionRecord, run: RunRecord, entries: Sequence[Entry], events: Sequence[AuditEvent], places: Sequence[Place] = ()
    ) -> bool:
        """Another run of a session whose runs have all ended, the session as it is to be from now on, and their audit, in one
        transaction. False, and nothing written, where one of its runs has not ended. `places`, and what is raised: as in `add_child`.
        """
        ...

    async def run(self, run_id: RunId) -> RunRecord | None: ...
    async def latest_run(self, session_id: SessionId) -> RunRecord | None: ...
    async def busy_children(self, session_id: SessionId) -> int:
        """How many of the session's children have a run that has not ended."""
        ...

    async def unfinished_runs(
        self, *, workspaces: Sequence[str] | None = None, root_id: SessionId | None = None
    ) -> tuple[RunRecord, ...]: ...
    async def claim(self, run_id: RunId, *, owner: str, now: float, seconds: float) -> Lease | None:
        """Take the run if nobody holds it, its lease has lapsed, or it is `owner`'s already; None otherwise, and for a final run.
        A change of owner raises the fence; a renewal by the same owner keeps it. Not synced, nor is giving it up: a loss of power that
        takes it back ends whoever held it.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Give it up. Not an error if it is lost already."""
        ...

    async def save_run(
        self,
        run: RunRecord,
        lease: Lease,
        *,
        now: float,
        entries: Sequence[Entry] = (),
        events: Sequence[AuditEvent] = (),
        uses: Sequence[RulingId] = (),
        charge: Charge | None = None,
        synced: bool = True,
    ) -> bool:
        """State, new entries, their audit, the use of rulings and what a model's turn used, in one transaction. The owner columns and
        `cancel_requested` are the store's own: what `run` says of them is not written. False, and nothing written, where one of `uses` no
        longer stands (as in `use_rulings`). Raises `LeaseLost` where the fence has moved on, or the lease was given up. A run that has
        ended is never made to go on (`StoreError`). `now` is the entries' time, and says on which day `charge` counts. `synced`: as in
        `audit`.
        """
        ...

    async def request_cancel(self, run_id: RunId, by: str) -> None: ...
    async def request_cancel_below(self, session_id: SessionId, by: str) -> tuple[RunId, ...]:
        """Ask every unfinished run of the session and of all below it to end, in one transaction. Returns them."""
        ...

    async def runs_to_cancel(self, workspaces: Sequence[str] | None = None) -> tuple[RunId, ...]:
        """Unfinished ones that somebody asked to end."""
        ...

    async def unheld_runs(self, workspaces: Sequence[str] | None = None, *, now: float) -> tuple[RunId, ...]:
        """Unfinished ones that no process holds at that time, oldest first."""
        ...

    async def over(self, ids: Sequence[str]) -> frozenset[str]:
        """Which of these runs and prompts are over: ended, open no more, or not there at all."""
        ...

    async def changes(self, session_id: SessionId) -> tuple[Change, ...]:
        """Every step that the session's runs took from state to state, with its time and reason, oldest first."""
        ...

    async def spent(self, *, session_id: SessionId | None = None, root_id: SessionId | None = None) -> Spent:
        """Summed over the runs of a session, or, where none is named, of a tree."""
        ...

    # transcript
    async def transcript(self, session_id: SessionId, *, after: int = 0) -> tuple[StoredEntry, ...]:
        """The entries of all its runs, in order: those whose `seq` is larger than `after`. None is ever changed or taken away."""
        ...

    # prompts
    async def add_prompt(self, prompt: Prompt, events: Sequence[AuditEvent] = (), *, lease: Lease | None = None) -> None:
        """`lease`: for a call of that run; raises `LeaseLost` where it is held no more, so that nobody is asked a second time for what
        another process has asked and been answered.
        """
        ...

    async def prompt(self, prompt_id: str, principal: str) -> Prompt | None: ...
    async def prompts(
        self,
        *,
        principal: str | None = None,
        root_id: SessionId | None = None,
        session_id: SessionId | None = None,
        digest: str | None = None,
        state: PromptState | None = None,
    ) -> tuple[Prompt, ...]:
        """Oldest first."""
        ...

    async def join_prompt(self, prompt_id: PromptId, call_id: str) -> bool:
        """Another call of the same session and digest waits for it; False where it is not open any more."""
        ...

    async def mark_shown(self, prompt_id: PromptId, *, at: float, deadline: float) -> Prompt | None:
        """The first showing sets the deadline; later ones leave it. None where it is not open."""
        ...

    async def close_prompt(
        self,
        prompt_id: PromptId,
        state: PromptState,
        *,
        answer: Answer | None = None,
        reason: str = "",
        rulings: Sequence[RulingRecord] = (),
        events: Sequence[AuditEvent] = (),
    ) -> bool:
        """Close an open prompt, with the rulings its answer makes, in one transaction. False: somebody was first, nothing was written."""
        ...

    async def forget_words(self, prompt_id: PromptId) -> None:
        """Of its answer, if it has one: whoever they were for has them."""
        ...

    # rulings
    async def add_rulings(self, rulings: Sequence[RulingRecord], events: Sequence[AuditEvent]) -> None: ...
    async def rulings(
        self, *, principal: str, session_ids: Sequence[SessionId] | None = None, standing_at: float | None = None
    ) -> tuple[RulingRecord, ...]:
        """Oldest first. `standing_at`: only those neither revoked, nor expired, nor used up (`once`) at that time."""
        ...

    async def use_rulings(self, ids: Sequence[RulingId], *, now: float, events: Sequence[AuditEvent]) -> bool:
        """Count a use of each, and write the events, in one transaction. False, and nothing written, where one no longer stands
        (revoked, expired, or a `once` used already).
        """
        ...

    async def revoke(self, ruling_id: str, *, principal: str, now: float, events: Sequence[AuditEvent]) -> bool: ...

    # audit
    async def audit(self, events: Sequence[AuditEvent], *, synced: bool = True) -> None:
        """Written, in the one order, and on the disk before this returns. `synced` False: for what has happened already and permits
        nothing; everybody sees it at once, but a loss of power may take it back, until the next write that is synced. What looks like a
        secret in their rules and outcomes is taken out first.
        """
        ...

    async def audit_log(
        self,
        *,
        principal: str | None = None,
        root_id: SessionId | None = None,
        session_id: SessionId | None = None,
        before: int | None = None,
        limit: int = 1000,
    ) -> tuple[StoredAudit, ...]:
        """The newest `limit`, oldest of them first. `before`: of those whose `seq` is smaller."""
        ...

    async def audit_page(
        self,
        *,
        principal: str | None = None,
        root_id: SessionId | None = None,
        session_id: SessionId | None = None,
        after: int,
        limit: int = 1000,
    ) -> tuple[StoredAudit, ...]:
        """The oldest `limit` whose `seq` is larger than `after`, in order: for reading all of it piece by piece."""
        ...

    @property
    def unsealed(self) -> int:
        """How many events this handle has written since it last had them signed; about."""
        ...

    async def seal_audit(self) -> None:
        """Sign what was written until now and is not signed yet, whoever wrote it. Closing does so too."""
        ...

    async def retire_audit(self, *, before: float) -> int:
        """Remove the oldest events, in whole signed segments of which all is older; the checkpoints stay. Returns how many."""
        ...

    async def prove_audit(self, *, noted: str | None = None) -> Proof:
        """Look at all of it. Reads every event, so not for every day; writers go on meanwhile. `noted`: the signature of a checkpoint,
        kept elsewhere, that must be there.
        """
        ...

    # small state of a session: to-do list, file stamps
    async def state(self, session_id: SessionId, key: str) -> str | None: ...
    async def set_state(self, session_id: SessionId, key: str, value: str, *, synced: bool = True) -> None:
        """Set or replace. `synced`: as in `audit`."""
        ...

    # retention
    async def silent_trees(self, *, before: float) -> tuple[Kept, ...]:
        """Trees of which nothing goes on or is open, and nothing was heard since that time; longest silent first."""
        ...

    async def forget_tree(self, root_id: SessionId) -> tuple[SessionId, ...]:
        """Take a whole tree out for good, but for its audit, which stays. Returns the sessions that are gone; none, and nothing is
        changed, where something of it goes on or is open after all.
        """
        ...

    async def used_bytes(self) -> int:
        """How much room everything takes."""
        ...

    # life
    async def changed(self) -> int:
        """A number that differs whenever any process has committed since; cheap enough to poll."""
        ...

    async def changed_elsewhere(self) -> int:
        """The same for commits of other handles and processes only."""
        ...

    async def close(self) -> None: ...
