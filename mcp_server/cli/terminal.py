"""The person's own terminal, and the proof that a person is at it.

What answers a prompt, trusts a workspace or lifts a ruling must come from a person. A model that can run commands has no
controlling terminal: its commands run in sessions of their own. A code is shown on the terminal and must be typed back there,
so that piping text into the command is not enough. Standard input and output play no part in it.
The one module of this room that knows platforms.
"""

import os
import secrets
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import anyio

from mcp_server.cli.table import safe
from mcp_server.errors import RemitError

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that are not taken for one another."""

LENGTH = 5
"""About 25 bits: short to type, and one try is all there is."""

OUT_OF_SIGHT = 1.0
"""Seconds between two looks whether a command that was put into the background is in front again."""


class NobodyThere(RemitError):
    """There is no terminal with a person at it."""


class NotConfirmed(RemitError):
    """The code was not typed back. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Where the person reads and types, whatever standard input and output are."""

    reads: TextIO
    writes: TextIO

    def say(self, text: str = "") -> None:
        """One or more lines. What a model wrote cannot steer the terminal."""
        self.writes.write(f"{safe(text)}\n")
        self.writes.flush()

    def ask(self, text: str) -> str:
        """What the person types after it; empty at end of input."""
        self.writes.write(safe(text))
        self.writes.flush()
        return self.reads.readline().strip()

    async def presses(self) -> AsyncGenerator[None]:
        """Each time the person presses Enter. Ends with the input; on Windows, whose consoles cannot be waited for, at once."""
        if sys.platform == "win32":
            return
        while True:
            await anyio.wait_readable(self.reads.fileno())
            if not _in_front(self.reads):
                await anyio.sleep(OUT_OF_SIGHT)
            elif self.reads.readline():
                yield
            else:
                return

    def confirm(self, deed: str) -> None:
        """Let the person type a fresh code back, once.

        Args:
            deed: What will be done, as `to …`.

        Raises:
            NotConfirmed: Anything else came.
        """
        code = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        typed = self.ask(f"Type {code} {deed}, or press Enter to leave it as it is: ")
        if not secrets.compare_digest(typed.lower().encode(), code.encode()):
            raise NotConfirmed("the code was not typed back; nothing was changed")


@contextmanager
def terminal() -> Generator[Terminal]:
    """The controlling terminal.

    Raises:
        NobodyThere: The process has none, or does not have it in the foreground.
    """
    names = ("CONIN$", "CONOUT$") if sys.platform == "win32" else ("/dev/tty", "/dev/tty")
    try:
        reads = open(names[0], encoding="utf-8", errors="replace")  # noqa: SIM115 - closed below, with its other half
    except OSError as error:
        raise NobodyThere(_NOBODY) from error
    with reads, open(names[1], "w", encoding="utf-8", errors="replace") as writes:
        if not _in_front(reads):
            raise NobodyThere(_NOBODY)
        yield Terminal(reads=reads, writes=writes)


_NOBODY = (
    "this is for a person at a terminal: run it yourself in one, in the foreground; it takes no answer from a pipe, a script or an agent"
)


def _in_front(reads: TextIO) -> bool:
    """A background process must not wait for a line: it would be stopped, or take one meant for another."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(reads.fileno()) == os.getpgrp()
    except OSError:
        return False
