"""Put limits on a program before it runs, through the shell that every machine has: a set limit is never taken back."""

from collections.abc import Sequence

from mcp_server.sandbox.profile import Limits

SHELL = "/bin/sh"

_BLOCK = 512
"""Bytes of one unit in which a POSIX shell counts file sizes."""


def limited(argv: Sequence[str], limits: Limits) -> list[str]:
    """The program, run under the limits. Shells differ in the letter for the number of processes."""
    script = (
        f"ulimit -c 0; ulimit -t {limits.cpu_seconds}; ulimit -d {limits.memory_bytes // 1024}; "
        f"ulimit -f {limits.file_bytes // _BLOCK}; "
        f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes} 2>/dev/null; "
        'exec "$@"'
    )
    return [SHELL, "-c", script, "sh", *argv]
