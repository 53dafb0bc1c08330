"""What a command said is told whole, however late this process comes to reading it."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcp_server.sandbox.direct import Direct
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.running import Running, run
from tests.bounds import LONG

PIPEFUL = 60_000


async def said(folder: Path, line: str) -> str:
    output = bytearray()

    async def beat(_seconds: float) -> None:
        pass

    profile = Profile(
        workspace=str(folder), visible=(), writable=(), temporary=str(folder), environment={"PATH": "/usr/local/bin:/usr/bin:/bin"}
    )
    argv = ["/bin/sh", "-c", line]
    await run(Direct(), profile, argv, cwd=str(folder), seconds=LONG, take=output.extend, beat=beat)
    return output.decode()


async def test_what_nobody_came_to_read_while_it_ran_is_read_when_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a loop that is held up for longer than the output is waited for must not take a command for silent."""

    async def late(self: Running, take: Callable[[bytes], None]) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(Running, "drain", late)
    assert await said(tmp_path, f"head -c {PIPEFUL} /dev/zero | tr '\\0' x; echo end") == "x" * PIPEFUL + "end\n"


async def test_nothing_is_told_twice(tmp_path: Path) -> None:
    assert await said(tmp_path, "for n in 1 2 3; do echo $n; done") == "1\n2\n3\n"
