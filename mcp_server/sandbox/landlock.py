"""The second back end: Landlock for files, a filter of system calls for the rest. Needs no namespaces, holds less.

Both bind a thread and what it starts, so each command is started from a thread of its own. The thread stays until the command is
over: it alone stands in the command's domain, and so the kernel tells it which processes are the command's.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread

from mcp_server.sandbox import filters, kernel
from mcp_server.sandbox.backend import Job, NotStarted, Started
from mcp_server.sandbox.grants import grants, handled, hidden_in_writable
from mcp_server.sandbox.limits import limited
from mcp_server.sandbox.profile import Profile

NAME = "landlock"

SCOPES_SIGNALS = 6
"""The version from which a domain keeps its signals to itself."""

_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1 << 0, 1 << 1
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1

START_SECONDS = 10
"""Setting up takes about a millisecond; past this something is stuck, and nothing must run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landlock:
    """Starts commands in threads that have given up what the profile does not name."""

    version: int
    name: str = NAME
    own_temporary: bool = False
    ends_with_us: bool = False

    def cannot_hold(self, profile: Profile) -> tuple[str, ...]:
        made = list(profile.unheld)
        if profile.writable:
            made.append("modes, owners and times of files outside the writable folders could be changed")
            made += [f"{place.path} lies in a writable folder and could be written" for place in profile.protected]
            made += [f"{path} lies in a writable folder and could be read" for path in hidden_in_writable(profile)]
        if self.version < SCOPES_SIGNALS:
            made.append("other programs of this user could be sent signals, and what the command leaves running may go on")
        if self.version < 3:
            made.append("files outside the writable folders could be emptied")
        return tuple(made)

    def start(self, profile: Profile, job: Job) -> Started:
        thread = _Keeper(profile, job, self.version)
        process = thread.begin()
        own = thread.own if self.version >= SCOPES_SIGNALS else None
        return Started(process=process, own=own, last=None, release=thread.release)


class _Keeper:
    """The thread of one command."""

    def __init__(self, profile: Profile, job: Job, version: int) -> None:
        self._profile, self._job, self._version = profile, job, version
        self._asked: SimpleQueue[Sequence[int] | None] = SimpleQueue()
        self._answers: SimpleQueue[subprocess.Popen[bytes] | BaseException] = SimpleQueue()
        self._found: SimpleQueue[frozenset[int]] = SimpleQueue()
        self._thread = Thread(target=self._live, name="sandbox", daemon=True)

    def begin(self) -> subprocess.Popen[bytes]:
        """Restrict the thread and start the program in it."""
        self._thread.start()
        answer = self._answers.get(timeout=START_SECONDS)
        if isinstance(answer, subprocess.Popen):
            return answer
        self.release()
        raise answer

    def own(self, processes: Sequence[int]) -> frozenset[int]:
        """Those that stand in the domain: the only ones that a thread of it may signal."""
        self._asked.put(processes)
        return self._found.get(timeout=START_SECONDS)

    def release(self) -> None:
        self._asked.put(None)

    def _live(self) -> None:
        try:
            self._restrict()
            self._answers.put(self._spawn())
        except BaseException as error:
            self._answers.put(error)
        while (processes := self._asked.get()) is not None:
            self._found.put(frozenset(pid for pid in processes if _may_signal(pid)))

    def _restrict(self) -> None:
        profile, version = self._profile, self._version
        try:
            scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if version >= SCOPES_SIGNALS else 0
            network = 0 if profile.network or version < 4 else _BIND_TCP | _CONNECT_TCP
            ruleset = kernel.landlock_ruleset(handled(version), network, scoped)
            try:
                for grant in grants(profile, version):
                    _allow(ruleset, grant.path, grant.rights & handled(version))
                kernel.drop_capabilities()
                kernel.no_new_privileges()
                kernel.landlock_restrict(ruleset)
            finally:
                os.close(ruleset)
            kernel.filter_calls(filters.program(kernel.machine(), network=profile.network, metadata=not profile.read_only))
        except OSError as error:
            raise NotStarted(f"the sandbox was not set up and nothing was run: {error.strerror}") from error

    def _spawn(self) -> subprocess.Popen[bytes]:
        profile, job = self._profile, self._job
        return subprocess.Popen(  # noqa: S603 - held by what this thread gave up
            limited(job.argv, profile.limits),
            stdin=job.input,
            stdout=job.output,
            stderr=job.complaints,
            cwd=job.cwd,
            env={**profile.environment, "TMPDIR": profile.temporary, job.mark[0]: job.mark[1]},
            start_new_session=True,
        )


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # gone since: then it is not granted
    try:
        kernel.landlock_allow(ruleset, descriptor, rights)
    finally:
        os.close(descriptor)


def _may_signal(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
