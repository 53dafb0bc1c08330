"""Where a process may be made to die or to stop: before and after each write to its store."""

import json
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, Literal, ParamSpec, TypeVar

from mcp_server.policy.verdicts import RulingId
from mcp_server.records import AuditEvent, Entry, RunRecord
from mcp_server.store.connection import Database
from mcp_server.store.ledger import Charge
from mcp_server.store.protocol import Lease
from mcp_server.store.sqlite import SqliteStore

T = TypeVar("T")
P = ParamSpec("P")

Side = Literal["before", "after"]

SIDES: tuple[Side, ...] = ("before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One point of one life, and what comes over the process there."""

    write: int
    """Which write of the process, from 0; with a name, which of that name."""
    name: str = ""
    side: Side
    signal: int = signal.SIGKILL


class Log:
    """A file that one process writes line by line, and another one reads once that is gone."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, *words: str) -> None:
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(words) + "\n")

    def lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self._file.read_text("utf-8").splitlines()] if self._file.exists() else []


class FaultyDatabase(Database):
    """Notes each of its writes, and at one of them sends its own process a signal."""

    def __init__(self, path: Path, fault: Fault | None, log: Log) -> None:
        self._fault = fault
        self._log = log
        self._count = 0
        self._named: Counter[str] = Counter()
        self.step = ""
        """What the next write does to a run, where that is what it does."""
        super().__init__(path)

    async def write(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        numbers = self._begin(work)
        result = await super().write(work, *args, **kwargs)
        self._come(numbers, "after")
        return result

    async def write_unsynced(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        numbers = self._begin(work)
        result = await super().write_unsynced(work, *args, **kwargs)
        self._come(numbers, "after")
        return result

    def _begin(self, work: Callable[..., object]) -> Mapping[str, int]:
        name, self.step = self.step or name_of(work), ""
        numbers = {"": self._count, name: self._named[name]}
        self._count += 1
        self._named[name] += 1
        self._log.add(name)
        self._come(numbers, "before")
        return numbers

    def _come(self, numbers: Mapping[str, int], side: Side) -> None:
        if self._fault is not None and side == self._fault.side and numbers.get(self._fault.name) == self._fault.write:
            os.kill(os.getpid(), self._fault.signal)


def name_of(work: Callable[..., object]) -> str:
    """`save_run` for what `SqliteStore.save_run` does in its transaction, `run_rows.claim` for a function of a table's module."""
    if "<locals>" in work.__qualname__:
        return work.__qualname__.split(".")[1]
    return f"{work.__module__.rpartition('.')[2]}.{work.__qualname__}"


def step_name(old: str, new: str) -> str:
    """How a run's step from state to state is noted."""
    return f"{old} → {new}"


class FaultyStore(SqliteStore):
    """A store that tells which step of a run each of its writes is."""

    def __init__(self, database: FaultyDatabase) -> None:
        super().__init__(database)
        self._faulty = database

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
        before = await self.run(run.id)
        self._faulty.step = step_name("none" if before is None else before.state.value, run.state.value)
        return await super().save_run(run, lease, now=now, entries=entries, events=events, uses=uses, charge=charge, synced=synced)
