"""What a caller may see of its sessions without calling a tool: how each stands with all below it, and its transcript.

A caller sees the trees of its own roots, whichever connection they belong to, and nothing else. Foreign, unknown and malformed ids
are one answer. Looking changes nothing and starts nothing.
"""

import json
from collections.abc import Sequence
from typing import Any, Protocol

import anyio
from pydantic import BaseModel, Field

from mcp_server.errors import NoSuchHandle
from mcp_server.records import FINAL, Prompt, PromptState, RunRecord, SessionRecord, Usage
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller
from mcp_server.sessions.plain_entries import plain_entry
from mcp_server.sessions.reports import RefusedReport, TaskState, UsageReport, report_of, usage_report
from mcp_server.sessions.ways import Ways
from mcp_server.store.ids import is_id

LOOK = 0.2
"""Seconds between two looks at the store's change number, shared by all who wait: as the server's own watch has it."""

MOST_BELOW = 500
"""Sessions told below one; of a larger tree the rest is counted. More is not read by a person, and hardly by a program."""

MOST_CHARACTERS = 400_000
"""Of a transcript told at once: the newest entries that fit. A host keeps all of a resource in memory, and often hands it to a model."""


class Below(BaseModel):
    """One session as it stands, with those that it has sent."""

    id: str
    agent: str
    title: str
    state: TaskState | None = None
    """None for a root: it has no run of its own."""
    reason: str = ""
    background: bool = False
    waiting_for: list[str] = Field(default_factory=list)
    usage: UsageReport
    started_at: float
    """Seconds since the epoch."""
    changed_at: float
    children: list["Below"] = Field(default_factory=list["Below"])
    left_out: int = 0
    """Sessions below that are not told, because there are too many."""


class Seen(Below):
    """The session that was asked for."""

    path: list[str]
    """Agents, root first."""
    parent: str | None = None
    root: str
    result: str | None = None
    error: str | None = None
    refused: list[RefusedReport] = Field(default_factory=list[RefusedReport])
    tree_usage: UsageReport
    """Its own and that of all below it."""


class Told(BaseModel):
    """A transcript."""

    id: str
    left_out: int = 0
    """Older entries that did not fit."""
    entries: list[dict[str, Any]]


class Sight(Protocol):
    """The door through which the protocol room looks."""

    async def open_children(self, caller: Caller) -> tuple[SessionRecord, ...]:
        """The caller's children, of all its roots, whose runs have not ended. Oldest first."""
        ...

    async def session(self, caller: Caller, session_id: str) -> Seen:
        """One session of the caller's trees.

        Raises:
            NoSuchHandle: It is not the caller's.
        """
        ...

    async def transcript(self, caller: Caller, session_id: str) -> Told:
        """Its transcript; empty for a root, whose calls are its client's.

        Raises:
            NoSuchHandle: It is not the caller's.
        """
        ...

    async def length(self, caller: Caller, session_id: str, known: int = 0) -> int:
        """A number that grows with each entry of the transcript. `known`: what it was before.

        Raises:
            NoSuchHandle: It is not the caller's.
        """
        ...

    async def change(self, seen: int) -> int:
        """Wait until anybody has written anything since the change that `seen` names (-1: none yet); that change's name."""
        ...


class StoreSight:
    """`Sight`, out of the store."""

    def __init__(self, deployment: Deployment) -> None:
        self._store = deployment.store
        self._workspaces = deployment.workspaces
        self._ways = deployment.ways
        self._change = -1
        self._looked_at = float("-inf")

    async def open_children(self, caller: Caller) -> tuple[SessionRecord, ...]:
        found: list[SessionRecord] = []
        for run in await self._store.unfinished_runs(workspaces=self._workspaces):
            if run.principal != caller.principal.key:
                continue
            root, *below = await self._store.chain(run.session_id)
            if len(below) == 1 and caller.owns(root):
                found.append(below[0])
        return tuple(found)

    async def session(self, caller: Caller, session_id: str) -> Seen:
        chain = await self._chain(caller, session_id)
        session = chain[-1]
        asked: dict[str, list[Prompt]] = {}
        for prompt in await self._store.prompts(principal=session.principal, root_id=session.root_id, state=PromptState.OPEN):
            asked.setdefault(prompt.session_id, []).append(prompt)
        tree = _Tree(asked, self._ways)
        run = await self._store.latest_run(session.id)
        seen = tree.below(session, run)
        seen.children = await self._children(session, tree)
        seen.left_out = tree.left_out
        report = report_of(session, run) if run is not None else None
        return Seen(
            **{name: getattr(seen, name) for name in Below.model_fields},
            path=[one.agent for one in chain],
            parent=session.parent_id,
            root=session.root_id,
            result=report.result if report else None,
            error=report.error if report else None,
            refused=report.refused if report else [],
            tree_usage=usage_report(tree.usage),
        )

    async def _children(self, session: SessionRecord, tree: "_Tree") -> list[Below]:
        told: list[Below] = []
        for child in await self._store.children(session.id):
            run = await self._store.latest_run(child.id)
            one = tree.below(child, run)
            one.children = await self._children(child, tree)
            if tree.told <= MOST_BELOW:
                told.append(one)
            else:
                tree.left_out += 1
        return told

    async def transcript(self, caller: Caller, session_id: str) -> Told:
        session = (await self._chain(caller, session_id))[-1]
        entries = [plain_entry(stored) for stored in await self._store.transcript(session.id)]
        kept = _newest(entries)
        return Told(id=session.id, left_out=len(entries) - len(kept), entries=kept)

    async def length(self, caller: Caller, session_id: str, known: int = 0) -> int:
        session = (await self._chain(caller, session_id))[-1]
        entries = await self._store.transcript(session.id, after=known)
        return entries[-1].seq if entries else known

    async def _chain(self, caller: Caller, session_id: str) -> tuple[SessionRecord, ...]:
        found = await self._store.session(session_id, caller.principal.key) if is_id("ses", session_id) else None
        chain = await self._store.chain(found.id) if found is not None else ()
        if not chain or not caller.owns(chain[0]):
            raise NoSuchHandle("session")
        return chain

    async def change(self, seen: int) -> int:
        while True:
            now = anyio.current_time()
            if now - self._looked_at >= LOOK:
                self._looked_at = now
                self._change = await self._store.changed()
            if self._change != seen:
                return self._change
            await anyio.sleep(LOOK)


class _Tree:
    """Adds up what is seen of one tree."""

    def __init__(self, asked: dict[str, list[Prompt]], ways: Ways) -> None:
        self._asked = asked
        self._ways = ways
        self.told = 0
        self.left_out = 0
        self.usage = Usage()

    def below(self, session: SessionRecord, run: RunRecord | None) -> Below:
        """One session, without its children."""
        self.told += 1
        waiting_for = list(self._ways.lines(self._asked.get(session.id, ())))
        if run is None:
            ended = session.ended_at
            reason = "open" if ended is None else "ended"
            changed = session.created_at if ended is None else ended
            return Below(
                id=session.id,
                agent=session.agent,
                title=session.title,
                reason=reason,
                waiting_for=waiting_for,
                usage=usage_report(Usage()),
                started_at=session.created_at,
                changed_at=changed,
            )
        self.usage += run.usage
        report = report_of(session, run, waiting_for)
        return Below(
            id=session.id,
            agent=session.agent,
            title=session.title,
            state=report.state,
            reason=run.reason if run.state not in FINAL else "",
            background=run.background,
            waiting_for=waiting_for,
            usage=report.usage,
            started_at=run.created_at,
            changed_at=run.updated_at,
        )


def _newest(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    room = MOST_CHARACTERS
    for entry in reversed(entries):
        room -= len(json.dumps(entry, ensure_ascii=False, default=str))
        if room < 0 and kept:
            break
        kept.append(entry)
    return kept[::-1]
