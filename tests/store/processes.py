"""Starting `worker` processes, letting them go at once, and reading what they say."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
BOUND = 180
"""Seconds. Starting Python takes most of it on a loaded machine; nothing here takes more than a few."""

Worker = subprocess.Popen[str]


@contextmanager
def worker(task: str, path: Path, name: str = "w", *, before: tuple[str, ...] = ()) -> Generator[Worker]:
    """A process that has said `ready`. It is ended with the block, whatever happens. `before`: a command to run it with."""
    process = subprocess.Popen(
        [*before, sys.executable, "-m", "tests.store.worker", task, str(path), name],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def finish(process: Worker) -> list[str]:
    """Let it go and wait until it is done; the lines it said."""
    said, _ = process.communicate("go\n", timeout=BOUND)
    assert process.returncode == 0
    return said.splitlines()


def let_go(process: Worker) -> None:
    """Let it go without waiting."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
