"""How long what has ended is kept: whole trees go, by age and by size, and never what goes on or is open. The audit goes by its own age.

What was used in a day (`store.ledger`) goes by the same age; the day that goes on never does.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from mcp_server.policy.verdicts import SessionId
from mcp_server.store.ledger import day_of
from mcp_server.store.protocol import Store

DAY = 86400.0

YOUNGEST = DAY
"""Seconds of silence before which no tree goes, however large the store is: a client may still be connected to it, and be quiet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What is kept. 0: without a bound."""

    days: int
    megabytes: int
    audit_days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was removed."""

    trees: int = 0
    sessions: int = 0
    events: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(trees=self.trees + other.trees, sessions=self.sessions + other.sessions, events=self.events + other.events)


async def prune(store: Store, outputs: Path, keeping: Keeping, *, now: float) -> Pruned:
    """Remove what is older, and then, where the store is larger, what was silent longest.

    Args:
        store: Of which whole trees are taken out.
        outputs: The folder in which sessions have their saved output.
        keeping: What stays.
        now: Seconds since the epoch.

    Raises:
        StoreError: What is removed until then stays removed.
    """
    pruned = Pruned()
    if keeping.days:
        for tree in await store.silent_trees(before=now - max(keeping.days * DAY, YOUNGEST)):
            pruned += await _forget(store, outputs, tree.root_id)
        await store.drop_use(before=day_of(now - keeping.days * DAY))
    if keeping.megabytes:
        for tree in await store.silent_trees(before=now - YOUNGEST):
            if await store.used_bytes() <= keeping.megabytes * 1_000_000:
                break
            pruned += await _forget(store, outputs, tree.root_id)
    if keeping.audit_days:
        pruned += Pruned(events=await store.retire_audit(before=now - keeping.audit_days * DAY))
    return pruned


async def _forget(store: Store, outputs: Path, root_id: SessionId) -> Pruned:
    gone = await store.forget_tree(root_id)
    await to_thread.run_sync(_remove_all, [outputs / session_id for session_id in gone])
    return Pruned(trees=1 if gone else 0, sessions=len(gone))


def _remove_all(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
