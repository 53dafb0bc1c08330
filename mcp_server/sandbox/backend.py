"""What a back end is: it starts one program inside a profile. It decides nothing, and waits for nothing."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_server.errors import ToolFailure
from mcp_server.sandbox.profile import Profile


class NotStarted(ToolFailure):
    """The sandbox could not be set up; nothing was run. It is never run without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to start."""

    argv: Sequence[str]
    """The program by its absolute path, and its arguments."""
    cwd: str
    """A folder in the workspace, resolved."""
    output: int
    """The descriptor that both output streams go to."""
    mark: tuple[str, str]
    """A variable that is put into its environment, by which its processes are known."""
    input: int = subprocess.DEVNULL
    errors: int | None = None
    """The descriptor for standard error, where that is another one."""

    @property
    def complaints(self) -> int:
        """Where standard error goes."""
        return self.output if self.errors is None else self.errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A program that runs. Whoever started it waits for it, ends it, and calls `release`, in this order."""

    process: subprocess.Popen[bytes]
    own: Callable[[Sequence[int]], frozenset[int]] | None
    """Which of these processes are certainly the command's? None: no more is known than descent and the mark tell."""
    last: Callable[[], int | None] | None
    """The process whose end is the end of all that the command started, whatever that did; asked once `process` has ended or been
    killed, and None then if it was never there. None instead of a function: no process is that."""
    release: Callable[[], None]
    """Take away what was put up for it. May be called twice."""


class Backend(Protocol):
    """One way to hold a command."""

    @property
    def name(self) -> str: ...

    @property
    def own_temporary(self) -> bool:
        """What commands call `/tmp` is the profile's temporary folder."""
        ...

    @property
    def ends_with_us(self) -> bool:
        """Should this process be killed, all that a command started ends too."""
        ...

    def start(self, profile: Profile, job: Job) -> Started:
        """Start it. Call this from the event loop's own thread: the sandbox may live only as long as the thread that starts it.

        Raises:
            NotStarted: It cannot be set up.
            OSError: The program cannot be run.
        """
        ...

    def cannot_hold(self, profile: Profile) -> tuple[str, ...]:
        """What of this profile it cannot carry out, in words. Empty: it holds all."""
        ...


def nothing() -> None:
    """Nothing was put up, so nothing is taken away."""
