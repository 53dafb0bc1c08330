"""A person at a terminal: a real process on a real pseudo-terminal, typed to and read from, every wait bounded."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cradle.commands import at_terminal, taking_terminal

BOUND = 120.0
"""Seconds for any one wait. Generous: it is reached only by what hangs."""

REMIT = str(Path(sys.executable).with_name("remit"))


@dataclass(slots=True)
class Person:
    """Runs one `remit` command at a terminal of its own."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    anew: bool = False
    """Start the program itself: for whoever kills it."""
    seen: str = ""
    process: subprocess.Popen[bytes] = field(init=False)
    master: int = field(init=False)

    def __enter__(self) -> Self:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            taking_terminal(REMIT, *self.arguments) if self.anew else at_terminal("mcp_server", *self.arguments),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.folder,
            env={**os.environ, **self.environment},
        )
        os.close(slave)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(BOUND)
        os.close(self.master)

    def sees(self, pattern: str) -> re.Match[str]:
        """Read on until the pattern appears in what was not matched yet."""
        deadline = time.monotonic() + BOUND
        while (found := re.search(pattern, self.seen)) is None:
            assert self._read(deadline), f"{pattern!r} never came; there is:\n{self.seen}"
        self.seen = self.seen[found.end() :]
        return found

    def types(self, text: str) -> None:
        """A line, with Enter."""
        os.write(self.master, f"{text}\n".encode())

    def types_the_code(self, deed: str) -> None:
        """Wait for the code, type it back."""
        self.types(self.sees(rf"Type (\w+) {deed}")[1])

    def leaves(self) -> tuple[int, str]:
        """Wait for the end; the exit code and what was left to read."""
        deadline = time.monotonic() + BOUND
        while self._read(deadline):
            pass
        return self.process.wait(BOUND), self.seen.replace("\r\n", "\n")

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing came for {BOUND} s; there is:\n{self.seen}"
        try:
            chunk = os.read(self.master, 65536)
        except OSError:  # Linux says EIO when the last holder of the other end is gone
            chunk = b""
        self.seen += chunk.decode(errors="replace")
        return bool(chunk)
