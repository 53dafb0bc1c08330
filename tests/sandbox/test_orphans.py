import os
import signal
import subprocess
import sys

from mcp_server.sandbox.tree import end_orphans, mark_of

NAME = "REMIT_TEST_ORPHANS"
"""A mark of its own: other tests' commands are none of its business."""

SLEEPS = (sys.executable, "-c", "import sys, time; sys.stdout.write('here'); sys.stdout.flush(); time.sleep(600)")


def _started(mark: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(SLEEPS, env={**os.environ, NAME: mark}, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(4) == b"here"
    return process


def _gone() -> str:
    """The mark of a process that has ended."""
    told = "import os; from mcp_server.sandbox.tree import mark_of; print(mark_of('call'))"
    return subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.strip()


def test_what_a_server_left_that_is_gone_is_ended_and_nothing_else() -> None:
    with _started(_gone()) as orphan, _started(mark_of("call")) as ours, _started("not a mark of ours") as other:
        assert end_orphans(NAME) == 1
        assert orphan.wait(timeout=120) == -signal.SIGKILL
        assert (ours.poll(), other.poll()) == (None, None)
        ours.kill()
        other.kill()
