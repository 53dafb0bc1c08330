"""A program that is spoken to over its streams, and what is left of it: nothing, however its end came."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcp_server.sandbox import keeper
from mcp_server.sandbox.direct import Direct
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.serving import serving
from tests.bounds import LONG

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and keepers are not run elsewhere yet")

LEAVES = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(0); os.close(1); os.close(2)
        time.sleep(3600)
    os._exit(0)
print(os.getpid(), flush=True)
sys.stdin.read()
time.sleep(3600 if "stay" in sys.argv else 0)
"""
"""Leaves behind a process that has nothing to do with it any more; both numbers are written."""

PARENT = "exec 3<&0; {python} -I -S {keeper} $$ {python} -I -S -c '{code}' <&3 & wait"


def runs(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


async def until(what: Callable[[], bool]) -> None:
    with anyio.fail_after(LONG):
        while not what():  # noqa: ASYNC110 - nothing rings when a process of somebody else's ends
            await anyio.sleep(0.01)


async def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    profile = Profile(workspace=str(tmp_path), visible=(), temporary=str(tmp_path), environment=dict(os.environ))
    argv = (sys.executable, "-I", "-S", "-c", LEAVES)
    said = b""
    async with serving(Direct(unlimited=True), profile, argv, cwd=str(tmp_path)) as served:
        while said.count(b"\n") < 2:
            await anyio.wait_readable(served.says)
            said += os.read(served.says, 100)
        pids = [int(word) for word in said.split()]
        assert all(map(runs, pids))
    assert not any(map(runs, pids))


def started() -> "subprocess.Popen[bytes]":
    command = PARENT.format(python=sys.executable, keeper=keeper.__file__, code=LEAVES)
    return subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def test_all_of_it_ends_when_whoever_started_it_is_killed() -> None:
    with started() as parent:
        assert parent.stdout is not None
        pids = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(runs, pids))
        os.kill(parent.pid, signal.SIGKILL)
        await until(lambda: not any(map(runs, pids)))


def test_a_program_that_cannot_be_run_is_told_of_by_its_exit_code() -> None:
    argv = [sys.executable, "-I", "-S", str(keeper.__file__), str(os.getpid()), "/no/such/program"]
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LONG)
    assert (ended.returncode, ended.stderr) == (127, b"/no/such/program: No such file or directory\n")
