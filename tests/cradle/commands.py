"""Command lines that behave like `python -m MODULE …` and start in a tenth of the time.

A tenth, because the process is a fork of one that has loaded everything already: the cradle, one a process of tests, which lives as long
as that does. Everything else is as it would be: a process of its own, with the standard streams, the folder, the environment and the
terminal that it is given; it ends as it would, and takes the signals that are sent to what was started for it. Two things differ, and a
test that shows one of them starts Python itself: what a start loads, and when; and that whoever kills what was started must not take
the server for dead at that moment, since it is another process, which is killed right after.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

POSSIBLE = sys.platform == "linux"
"""Elsewhere processes start in the common way: forks that may have no threads and descriptors of processes are Linux's."""

STAND_IN = Path(__file__).with_name("stand_in.py")


def module(name: str, *arguments: str) -> tuple[str, ...]:
    """The command line that runs this module of ours, or of the tests', in the folder where it is started."""
    if not POSSIBLE:
        return (sys.executable, "-m", name, *arguments)
    return (sys.executable, "-I", "-S", str(STAND_IN), cradle().socket, "pipes", name, *arguments)


def at_terminal(name: str, *arguments: str) -> tuple[str, ...]:
    """The same; its standard input is a terminal, which becomes the controlling one of a session of its own."""
    if not POSSIBLE:
        return taking_terminal(sys.executable, "-m", name, *arguments)
    return (sys.executable, "-I", "-S", str(STAND_IN), cradle().socket, "terminal", name, *arguments)


def taking_terminal(*words: str) -> tuple[str, ...]:
    """The command line that does the same for any other one."""
    return (sys.executable, "-c", TAKE_TERMINAL, *words)


TAKE_TERMINAL = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cradle:
    """What makes the processes."""

    socket: str
    process: "subprocess.Popen[bytes]"
    """Held for as long as this process lives."""


@cache
def cradle() -> Cradle:
    """This process's own. It ends, and removes its folder, when its standard input does: with this process."""
    place = str(Path(tempfile.mkdtemp(prefix="remit-cradle-")) / "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cradle", place],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", "the cradle did not start"
    return Cradle(socket=place, process=process)
