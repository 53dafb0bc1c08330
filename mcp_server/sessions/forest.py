"""Sessions as trees: what of a person's store is worth showing now."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import FINAL, Prompt, PromptState, RunRecord, SessionRecord
from mcp_server.store.protocol import Store
from mcp_server.store.spent import Spent

ALL_OF_THEM = 100_000
"""More sessions than a person's store holds."""

SILENT = 12 * 3600.0
"""Seconds after which an open root with nothing going on below it is taken for left: a server that was killed never said so."""


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


async def read_forest(store: Store, *, principals: Sequence[str], workspace: str | None, limit: int, finished: bool) -> Forest:
    """What of these principals goes on, with its ancestors; with `finished` also the newest `limit` of everything else, with theirs."""
    those = [one for principal in principals for one in await store.sessions(principal, limit=ALL_OF_THEM)]
    everyone = {one.id: one for one in sorted(those, key=lambda one: one.created_at, reverse=True)}
    if workspace is not None:
        everyone = {one.id: one for one in everyone.values() if workspace in (one.workspace, everyone.get(one.root_id, one).workspace)}
    runs = {run.session_id: run for run in await store.unfinished_runs() if run.session_id in everyone}
    asked: dict[SessionId, list[Prompt]] = {}
    for prompt in [one for principal in principals for one in await store.prompts(principal=principal, state=PromptState.OPEN)]:
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


def began(one: Listed) -> float:
    """When its latest run was started; a root, when it was opened."""
    return one.run.created_at if one.run is not None else one.session.created_at


def ended(one: Listed, now: float) -> float:
    """When it came to its end; now, where it has not."""
    if one.run is not None:
        return one.run.updated_at if one.run.state in FINAL else now
    return one.session.ended_at or now
