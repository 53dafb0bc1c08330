"""Keeping what is shown up to date, on a terminal that can redraw and on anything that cannot."""

import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

import anyio

from mcp_server.cli.table import cut
from mcp_server.store.protocol import Store

LOOK = 0.2
"""Seconds between two looks at the store's change number, as a server does it: people take it for at once."""

TICK = 1.0
"""Seconds between two drawings while nothing has changed: the elapsed times are shown to the second."""


async def beats(store: Store) -> AsyncGenerator[bool]:
    """True at once and whenever anybody has written to the store since; False each second in between. Never ends."""
    seen, drawn = -1, 0.0
    while True:
        now = await store.changed()
        changed = now != seen
        if changed or time.monotonic() - drawn >= TICK:
            seen, drawn = now, time.monotonic()
            yield changed
        await anyio.sleep(LOOK)


def redraws(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Is it a terminal that can be drawn upon? `TERM=dumb` says that it is not, and so does a console of old on Windows."""
    if not stream.isatty():
        return False
    if sys.platform == "win32":
        return "WT_SESSION" in environment or "TERM" in environment
    return environment.get("TERM", "") not in ("", "dumb")


class Screen:
    """A terminal's second screen: what was on the first comes back afterwards."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, lines: Sequence[str], foot: str) -> None:
        """These lines in place of the last ones, cut to the terminal, and one more at the end. No character in them is obeyed."""
        columns, rows = shutil.get_terminal_size()
        room = max(1, rows - 2)
        kept = list(lines) if len(lines) <= room else [*lines[: room - 1], f"… {len(lines) - room + 1} more lines"]
        drawn = "".join(f"{cut(line, columns)}\x1b[K\r\n" for line in (*kept, ""))
        self._stream.write(f"\x1b[H{drawn}{cut(foot, columns)}\x1b[K\x1b[J")
        self._stream.flush()


@contextmanager
def screen(stream: TextIO) -> Generator[Screen]:
    """Draw until Ctrl-C or SIGTERM; the terminal is left as it was in any case."""
    former = signal.signal(signal.SIGTERM, _leave)
    stream.write("\x1b[?1049h\x1b[?25l\x1b[H")
    try:
        yield Screen(stream)
    finally:
        stream.write("\x1b[?25h\x1b[?1049l")
        stream.flush()
        signal.signal(signal.SIGTERM, former)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def draws_here() -> bool:
    """Does standard output redraw?"""
    return redraws(sys.stdout, os.environ)
