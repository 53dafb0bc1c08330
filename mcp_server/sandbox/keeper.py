"""Keeps one program with all that it starts, and ends them when whoever wanted it is gone, however that ended. POSIX.

Run as a script by a bare interpreter, `keeper.py PARENT PROGRAM ARGUMENTS…`: nothing of Remit is imported. It ends with the program's exit
code. On Linux it is where orphans go, so that nothing that detaches itself is lost sight of; elsewhere a process group is all it knows.
"""

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

GRACE_SECONDS = 0.5
"""Between the polite signal and the other."""

END_SECONDS = 10.0
"""How long what is left is looked for. A process that cannot be ended (another user's) must not hold the keeper for ever."""

LOOK_SECONDS = 1.0
"""Between two looks for the parent, where the system does not tell of its end (macOS, not run here)."""

NOT_FOUND = 127
"""The exit code for a program that cannot be run, as shells have it."""


def main(parent: int, argv: list[str]) -> int:
    """Run it to its end, or to the parent's."""
    hearing, telling = os.pipe()
    os.set_blocking(hearing, False)
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _heard)
    _bind_to_parent()
    if os.getppid() != parent:
        return 0
    program = os.fork()
    if program == 0:
        _become(argv)
    _let_go()
    code = _watch(program, parent, hearing)
    _end_all(program)
    return code


def _heard(_number: int, _frame: FrameType | None) -> None:
    """It is read from the pipe."""


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _bind_to_parent() -> None:
    _control(PR_SET_CHILD_SUBREAPER, 1)
    _control(PR_SET_PDEATHSIG, signal.SIGTERM)


def _become(argv: list[str]) -> None:
    """In the child: be the program. Should the keeper itself be killed, the program goes too."""
    try:
        _control(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 - what to run was decided by settings
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_FOUND)


def _let_go() -> None:
    """The streams are the program's: whoever reads or writes them must see its end, not the keeper's."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _watch(program: int, parent: int, hearing: int) -> int:
    """Until the program, or the parent, is gone, or somebody says so. The exit code as a shell has it."""
    while True:
        select.select([hearing], [], [], LOOK_SECONDS)
        told = b""
        with suppress(BlockingIOError):
            told = os.read(hearing, 1024)
        code = _reaped(program)
        if code is not None:
            return code
        if set(told) - {signal.SIGCHLD} or os.getppid() != parent:
            return 128 + signal.SIGTERM


def _reaped(program: int) -> int | None:
    """Take note of whatever has ended. The program's exit code; None: it runs."""
    code: int | None = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return code
            if pid == program:
                ended = os.waitstatus_to_exitcode(status)
                code = 128 - ended if ended < 0 else ended
    return code


def _end_all(program: int) -> None:
    asked = time.monotonic()
    while left := _descendants(program):
        waited = time.monotonic() - asked
        if waited > END_SECONDS:
            return
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM if waited < GRACE_SECONDS else signal.SIGKILL)
        time.sleep(0.02)
        _reaped(program)


def _descendants(program: int) -> list[int]:
    """All that descends from the keeper and still runs."""
    if not os.path.exists("/proc/self/stat"):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(program, 0)
            return [program]
        return []
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        with suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{int(name)}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X"):
                parents[int(name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
