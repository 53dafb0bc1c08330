"""Find the processes of one command, wherever they have gone. Linux: elsewhere there is no `/proc` to read.

Known by descent, by session, by a mark in their environment and by the output they hold open; and where the sandbox can tell
which are its own, by that, which nothing sheds.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")

_ENDED = (b"Z", b"X")


@dataclass(frozen=True, slots=True)
class Seen:
    """A process by number and start, so that a number given again is not taken for it."""

    pid: int
    started: str


@dataclass(slots=True)
class Tree:
    """The processes of one command."""

    leader: int
    mark: bytes
    pipe: str
    """What a link to the command's output reads."""
    own: Callable[[Sequence[int]], frozenset[int]] | None
    """See `Started.own`."""
    known: set[Seen] = field(default_factory=set[Seen])

    def alive(self) -> set[Seen]:
        """Those running now, and remembered from now on."""
        if self.own is not None:
            return set(_processes(self.own([int(name) for name in os.listdir(PROC) if name.isdigit()])))
        table = _processes(int(name) for name in os.listdir(PROC) if name.isdigit())
        mine = {seen for seen in self.known if seen in table}
        for seen, (parent, group, session) in table.items():
            if self.leader in (seen.pid, parent, group, session) or _marked(seen.pid, self.mark) or _writes(seen.pid, self.pipe):
                mine.add(seen)
        while more := {seen for seen, (parent, _, _) in table.items() if seen not in mine and parent in {one.pid for one in mine}}:
            mine |= more
        self.known |= mine
        return mine


def known_here() -> bool:
    """Can processes be found on this machine?"""
    return PROC.joinpath("self", "stat").exists()


def send(processes: Iterable[Seen], number: signal.Signals) -> None:
    """A signal to each of them that is still there."""
    for seen in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(seen.pid, number)


def _processes(pids: Iterable[int]) -> dict[Seen, tuple[int, int, int]]:
    """Those that run, zombies left out: parent, group and session."""
    table: dict[Seen, tuple[int, int, int]] = {}
    for pid in pids:
        with suppress(OSError, IndexError):
            # The name in brackets may hold spaces and brackets; what follows the last one is numbers.
            fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] not in _ENDED:
                table[Seen(pid, fields[19].decode())] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return table


def _marked(pid: int, mark: bytes) -> bool:
    try:
        return mark in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _writes(pid: int, pipe: str) -> bool:
    for descriptor in ("1", "2"):
        with suppress(OSError):
            if os.readlink(PROC / str(pid) / "fd" / descriptor) == pipe:
                return True
    return False


def mark_of(call: str) -> str:
    """The value of the mark of one command: this process, by number and start, and the command's own."""
    me = os.getpid()
    return f"{me}.{_started(me)}.{call}"


def end_orphans(name: str) -> int:
    """End what is left of commands whose server is gone, as after a crash in the instant in which a sandbox was set up. Of this user's
    processes only; returns how many there were.
    """
    orphans = [pid for pid in _all() if (mark := _mark_in(pid, name.encode())) is not None and not _lives(mark)]
    for pid in orphans:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return len(orphans)


def _all() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit()) if known_here() else iter(())


def _mark_in(pid: int, name: bytes) -> str | None:
    with suppress(OSError):
        for entry in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            if entry.startswith(name + b"="):
                return entry.partition(b"=")[2].decode(errors="replace")
    return None


def _lives(mark: str) -> bool:
    """Does the process that set the mark run? One that cannot be read is left alone."""
    pid, _, rest = mark.partition(".")
    started = rest.partition(".")[0]
    return not (pid.isdigit() and started.isdigit()) or _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process began, in ticks since the machine did; empty: there is none."""
    with suppress(OSError, IndexError):
        return (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    return ""
