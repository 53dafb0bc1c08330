"""A person in front of a terminal that obeys what is sent to it: what stands on its screen, how it is sized, whether it was restored."""

import fcntl
import os
import re
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyte

from tests.cli.person import BOUND, Person


class Onlooker(Person):
    """Sees the screen as a terminal would show it, not the bytes."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, *, rows: int = 40, columns: int = 100
    ) -> None:
        super().__init__(arguments, {**environment, "TERM": "xterm-256color"}, folder)
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.Stream(self.screen)
        self.raw = ""
        self.size = (rows, columns)

    def __enter__(self) -> "Onlooker":
        super().__enter__()
        self.resize(*self.size)
        return self

    def resize(self, rows: int, columns: int) -> None:
        """As a window is pulled larger or smaller; the kernel tells the command."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def shown(self) -> str:
        """The screen's text."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def begins(self) -> None:
        """Type the code, and wait for the inbox."""
        self.types(self.sees(r"Type (\w+) to answer by keys from here")[1])
        self.stream.feed(self.seen)
        self.raw, self.seen = self.seen, ""
        self.until("Remit: ")

    def until(self, *patterns: str) -> str:
        """Read on until all of them are on the screen; the screen then."""
        deadline = time.monotonic() + BOUND
        while not all(re.search(pattern, self.shown) for pattern in patterns):
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{patterns} never came; there is:\n{self.shown}"
            self._more()
        return self.shown

    def press(self, keys: str) -> None:
        """Keys without Enter."""
        os.write(self.master, keys.encode())

    def ends(self) -> int:
        """Wait for the end; the exit code. Checks that the terminal is as it was: first screen, cursor shown, echo and lines on."""
        while self._more():
            pass
        code = self.process.wait(BOUND)
        assert self.raw.rfind("\x1b[?1049l") > self.raw.rfind("\x1b[?1049h") >= 0, "the first screen did not come back"
        assert self.raw.rfind("\x1b[?25h") > self.raw.rfind("\x1b[?25l"), "the cursor stayed hidden"
        return code

    def modes(self) -> int:
        """The terminal's local modes."""
        return termios.tcgetattr(self.master)[3]

    def _more(self) -> bool:
        self.seen = ""
        came = self._read(time.monotonic() + BOUND)
        self.raw += self.seen
        self.stream.feed(self.seen)
        self.seen = ""
        return came
