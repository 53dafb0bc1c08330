"""Sessions as trees: what of a person's store is worth showing now, and the lines that show it."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcp_server.cli.state import ME
from mcp_server.cli.table import table
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import FINAL, Prompt, PromptState, RunRecord, SessionRecord, Spent
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import cost_of, elapsed_of, short
from mcp_server.store.protocol import Store

ALL_OF_THEM = 100_000
"""More sessions than a person's store holds."""

SILENT = 12 * 3600.0
"""Seconds after which an open root with nothing going on below it is taken for left: a server that was killed never said so."""

HEADS = ("SESSION", "STATE", "ELAPSED", "TOKENS", "ID", "ABOUT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One session, how its latest run stands, and what it asks a person."""

    session: SessionRecord
    run: RunRecord | None
    prompts: tuple[Prompt, ...] = ()
    spent: Spent | None = None
    """For a root: what its whole tree has used, folded away or not."""

    @property
    def state(self) -> str:
        """The run's state; a root session has none and is open until it ends."""
        if self.run is None:
            return "open" if self.session.ended_at is None else "ended"
        if self.run.cancel_requested is not None and self.run.state not in FINAL:
            return f"{self.run.state.value}, to end"
        return self.run.state.value

    def goes_on(self, now: float) -> bool:
        """Is it worth a look without being asked for?"""
        if self.run is not None:
            return self.run.state not in FINAL
        left = self.session.ended_at is not None or now - self.session.created_at > SILENT
        return bool(self.prompts) or not left


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """What is shown, newest first, and how many finished sessions are folded away below each, or at the top (None)."""

    listed: tuple[Listed, ...]
    folded: Mapping[SessionId | None, int]

    def tree(self) -> Iterator[tuple[int, Listed | int]]:
        """Each with its depth, below its parent, and after them how many are folded away there. A child whose parent is not shown
        stands at the top.
        """
        known = {one.session.id for one in self.listed}
        below: dict[SessionId | None, list[Listed]] = {}
        for one in self.listed:
            parent = one.session.parent_id
            below.setdefault(parent if parent in known else None, []).append(one)

        def walk(parent: SessionId | None, depth: int) -> Iterator[tuple[int, Listed | int]]:
            ones = below.get(parent, [])
            for one in ones if parent is None else reversed(ones):
                yield depth, one
                yield from walk(one.session.id, depth + 1)
            if parent is not None and parent in self.folded:
                yield depth, self.folded[parent]

        return walk(None, 0)


async def read_forest(store: Store, *, workspace: str | None, limit: int, finished: bool) -> Forest:
    """What goes on, with its ancestors; with `finished` also the newest `limit` of everything else, with theirs."""
    everyone = {one.id: one for one in await store.sessions(ME, limit=ALL_OF_THEM)}
    if workspace is not None:
        everyone = {one.id: one for one in everyone.values() if workspace in (one.workspace, everyone.get(one.root_id, one).workspace)}
    runs = {run.session_id: run for run in await store.unfinished_runs() if run.session_id in everyone}
    asked: dict[SessionId, list[Prompt]] = {}
    for prompt in await store.prompts(principal=ME, state=PromptState.OPEN):
        asked.setdefault(prompt.session_id, []).append(prompt)

    def seen(one: SessionRecord) -> Listed:
        return Listed(session=one, run=runs.get(one.id), prompts=tuple(asked.get(one.id, ())), spent=spent.get(one.id))

    now = time.time()
    spent: dict[SessionId, Spent] = {}
    newest = set(list(everyone)[:limit]) if finished else set[SessionId]()
    busy = {one.id for one in everyone.values() if (one.parent_id is None or one.id in runs) and seen(one).goes_on(now)}
    shown = {above for chosen in busy | newest for above in _up(everyone, chosen)}
    for identity in shown - set(runs):
        if (run := await store.latest_run(identity)) is not None:
            runs[identity] = run
    for identity in (one for one in shown if everyone[one].parent_id is None):
        spent[identity] = await store.spent(root_id=identity)
    hidden = (one for one in everyone.values() if one.id not in shown)
    folded = Counter(one.parent_id if one.parent_id in shown else None for one in hidden)
    return Forest(listed=tuple(seen(one) for one in everyone.values() if one.id in shown), folded=folded)


def _up(everyone: Mapping[SessionId, SessionRecord], identity: SessionId | None) -> Iterator[SessionId]:
    while identity is not None and identity in everyone:
        yield identity
        identity = everyone[identity].parent_id


def lines_of(forest: Forest, now: float) -> list[str]:
    """The forest as a table, and below it what is folded away."""
    rows: list[tuple[str, ...]] = []
    for depth, one in forest.tree():
        lead = "  " * depth + ("└ " if depth else "")
        if isinstance(one, Listed):
            rows.append((f"{lead}{one.session.agent}", *_cells(one, now)))
        else:
            rows.append((f"{lead}{one} finished", "", "", "", "", ""))
    apart = forest.folded.get(None, 0)
    more = f"{apart} finished session{'s' if apart != 1 else ''} not shown; --all shows them" if apart else ""
    if not rows:
        return [f"nothing is going on; {more}" if more else "no sessions yet"]
    return [*table(HEADS, rows).split("\n"), *(["", more] if more else [])]


def _cells(one: Listed, now: float) -> tuple[str, ...]:
    return one.state, elapsed_of(_ended(one, now) - _began(one)), _tokens(one), short(one.session.id), about(one)


def _began(one: Listed) -> float:
    return one.run.created_at if one.run is not None else one.session.created_at


def _ended(one: Listed, now: float) -> float:
    if one.run is not None:
        return one.run.updated_at if one.run.state in FINAL else now
    return one.session.ended_at or now


def _tokens(one: Listed) -> str:
    if one.run is None:
        spent = one.spent or Spent()
        return f"{spent.tokens}{f' (${spent.cost:.4f})' if spent.cost else ''}" if spent.tokens else ""
    usage = one.run.usage
    tokens = usage.input_tokens + usage.output_tokens
    cost = f" ({cost_of(usage)})" if usage.cost is not None else ""
    return f"{tokens}{cost}" if tokens else ""


def about(one: Listed) -> str:
    """What it waits for; else why it is as it is, and what it was given to do."""
    if one.prompts:
        return "; ".join(f"asks you: {wanted(prompt)} (remit approvals show {short(prompt.id)})" for prompt in one.prompts)
    reason = one.run.reason if one.run is not None and one.run.state not in FINAL else ""
    return ", ".join(part for part in (reason, one.session.title) if part)


def as_object(one: Listed, folded: int = 0) -> Mapping[str, Any]:
    """One session for programs. It changes only when the session does: no elapsed time."""
    session, run = one.session, one.run
    return {
        "id": session.id,
        "parent": session.parent_id,
        "root": session.root_id,
        "agent": session.agent,
        "title": session.title,
        "workspace": session.workspace,
        "state": run.state.value if run is not None else one.state,
        "reason": run.reason if run else "",
        "cancel_requested": run.cancel_requested if run else None,
        "background": run.background if run else False,
        "usage": asdict(run.usage) if run else None,
        "tree_spent": asdict(one.spent) if one.spent else None,
        "asks": [{"prompt": prompt.id, "wants": wanted(prompt)} for prompt in one.prompts],
        "folded": folded,
        "created_at": session.created_at,
        "run_started_at": run.created_at if run else None,
        "run_changed_at": run.updated_at if run else None,
        "ended_at": session.ended_at,
    }


def objects_of(forest: Forest) -> Sequence[Mapping[str, Any]]:
    """Every shown session, in the order of the tree."""
    return [as_object(one, forest.folded.get(one.session.id, 0)) for _, one in forest.tree() if isinstance(one, Listed)]
