"""`grep` against ripgrep itself: the same search over the same tree, without and with what Remit adds."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from benchmarks.ground import at_work, ground
from benchmarks.measuring import Figure, spread, words
from mcp_server.principal import LOCAL
from mcp_server.sessions.front import Caller, Ended
from mcp_server.tools.ripgrep import binary

FOLDERS, FILES, LINES = 40, 50, 60
ROUNDS = 25
WORD = "needle"


def figures() -> list[Figure]:
    """One search."""
    return anyio.run(_measured)


async def _measured() -> list[Figure]:
    own: list[float] = []
    peer: list[float] = []
    with ground() as made:
        _fill(made.workspace)
        command = (binary(), "--json", "--regexp", WORD, "--", str(made.workspace))
        async with at_work(made) as remit:
            caller = Caller(principal=LOCAL, workspace=str(made.workspace), agent="build")
            root = await remit.desk.open_root(caller, shared=False)
            for round_ in range(ROUNDS + 1):
                begun = time.perf_counter()
                call_id = await remit.desk.begin(root, "grep", {"pattern": WORD})
                settled = await remit.desk.settle(root, call_id, seconds=30)
                middle = time.perf_counter()
                await remit.desk.detach(call_id)
                if not isinstance(settled, Ended) or WORD not in str(settled.result.parts):
                    raise AssertionError(f"nothing was found: {settled}")
                resumed = time.perf_counter()
                _ripgrep(command)
                if round_:
                    own.append(middle - begun)
                    peer.append(time.perf_counter() - resumed)
    mine, theirs = spread(own), spread(peer)
    return [
        Figure(
            name="`grep` over 2,000 files",
            measured=f"{mine.p50 / theirs.p50:.2f} times ripgrep ({words(mine.p50)} against {words(theirs.p50)}; "
            f"least {words(mine.least)} against {words(theirs.least)})",
            target="",
            met=None,
            how="a governed call with audit, what may not be read left out, against the program with `--json`, both by the clock",
        )
    ]


def _ripgrep(command: Sequence[str]) -> None:
    found = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - a program of ours, on a folder of ours
    if WORD.encode() not in found.stdout:
        raise AssertionError("ripgrep found nothing")


def _fill(workspace: Path) -> None:
    for folder in range(FOLDERS):
        (workspace / f"part{folder}").mkdir()
        for name in range(FILES):
            lines = [f"line {number} of nothing in particular" for number in range(LINES)]
            if name == 7:
                lines[30] = f"here lies the {WORD}"
            (workspace / f"part{folder}" / f"file{name}.txt").write_text("\n".join(lines))
