"""Run a module of ours in a process apart, on input that may be hostile: however long it would take, it is ended in time.

For parsers of documents from elsewhere. One that loops, nests without end or fills the memory costs that process alone.
"""

import os
import subprocess
import sys
from collections.abc import Mapping

import anyio

from mcp_server.errors import ToolFailure

_START = (
    "import runpy, sys; sys.path[:] = sys.argv.pop(1).split(chr(10)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
"""With the paths of this process, and neither its current folder nor what the environment adds."""


async def apart(module: str, *arguments: str, given: bytes | int, seconds: float, environment: Mapping[str, str], what: str) -> bytes:
    """What it writes to standard output.

    Args:
        module: By its whole name. It bounds its own output and memory.
        arguments: For its command line.
        given: Its standard input: bytes, or an open file's descriptor.
        seconds: How long it may take.
        environment: What the process gets.
        what: What it works on, for failures.

    Raises:
        ToolFailure: It took too long, or gave up.
    """
    paths = "\n".join(path for path in sys.path if path)
    argv = [sys.executable, "-I", "-c", _START, paths, module, *arguments]
    stdin = given if isinstance(given, int) else subprocess.PIPE
    try:
        with anyio.fail_after(seconds):
            ended = await anyio.run_process(
                argv,
                input=given if isinstance(given, bytes) else None,
                stdin=None if isinstance(given, bytes) else stdin,
                check=False,
                env={**environment, "PYTHONIOENCODING": "utf-8"},
                cwd=os.path.dirname(sys.executable),
            )
    except TimeoutError:
        raise ToolFailure(f"{what} could not be taken apart within {seconds:g} s, and was given up") from None
    except OSError as error:
        raise ToolFailure(f"{what} could not be taken apart: {error.strerror or error}") from error
    if ended.returncode != 0:
        raise ToolFailure(f"{what} could not be taken apart: {_reason(ended.stderr)}")
    return ended.stdout


def _reason(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "its reader ended without a word"
