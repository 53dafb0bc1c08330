"""Output too long to show: saved whole, previewed head and tail. Every tool's long output goes through here."""

import os
import secrets
from pathlib import Path
from typing import BinaryIO

from mcp_server.tools.base import ToolContext

MAX_LINES = 2000
"""Lines shown whole. What the common hosts show of one result."""

MAX_BYTES = 50 * 1024
"""Bytes shown whole; about 12,000 tokens."""

MAX_SAVED = 100 * 1024 * 1024
"""Bytes kept of one output, so that a runaway program cannot fill the disk."""

_HALF_LINES = MAX_LINES // 2
_HALF_BYTES = MAX_BYTES // 2


class Spool:
    """Takes output as it comes; holds at most twice the limit in memory, the rest lies in one file (0600)."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        self._whole = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._problem = ""
        self.path: Path | None = None
        """Where the whole output is, once it is too long to show."""
        self.size = 0
        """Bytes so far."""
        self.lines = 0
        """Line ends so far."""

    def add(self, data: bytes) -> None:
        """More output."""
        self.size += len(data)
        self.lines += data.count(b"\n")
        if not self._over():
            self._whole += data
            if self.size > MAX_BYTES or self.lines > MAX_LINES:
                self._overflow()
            return
        self._save(data)
        self._keep_tail(data)

    def close(self) -> None:
        """No more output."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def text(self) -> str:
        """All of it, or head, note and tail."""
        if not self._over():
            return self._whole.decode(errors="replace")
        head = _first_lines(bytes(self._whole))
        tail = _last_lines(bytes(self._tail))
        return f"{head.decode(errors='replace')}\n\n… {self._note()} …\n\n{tail.decode(errors='replace')}"

    def _over(self) -> bool:
        return self.path is not None or bool(self._problem)

    def _overflow(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._folder / f"{self._stem}-{secrets.token_hex(8)}.txt"
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
            self.path = path
        except OSError as error:
            self._problem = f"the whole could not be saved: {error.strerror}"
        whole = bytes(self._whole)
        self._save(whole)
        self._keep_tail(whole)
        del self._whole[_HALF_BYTES + 4 :]

    def _save(self, data: bytes) -> None:
        room = MAX_SAVED - (self.size - len(data))
        if self._file is None or room <= 0:
            return
        try:
            self._file.write(data[:room])
            self._file.flush()
        except OSError as error:
            self._problem = f"only a part could be saved: {error.strerror}"
            self.close()

    def _keep_tail(self, data: bytes) -> None:
        self._tail += data[-_HALF_BYTES:]
        if len(self._tail) > 2 * _HALF_BYTES:
            del self._tail[:-_HALF_BYTES]

    def _note(self) -> str:
        lines = f"{self.lines:,} lines, {self.size:,} bytes in all; the middle is left out here"
        if self._problem:
            return f"{lines}; {self._problem}"
        cut = f", its first {MAX_SAVED:,} bytes" if self.size > MAX_SAVED else ""
        return f"{lines}. The whole is saved{cut}: {self.path} (read it with offset and limit, or grep it)"


def shown(text: str, context: ToolContext, stem: str) -> str:
    """`text` itself, or where it is too long, its preview; the whole is then in the session's output folder."""
    spool = Spool(context.outputs, stem)
    spool.add(text.encode(errors="replace"))
    spool.close()
    return spool.text()


def _first_lines(data: bytes) -> bytes:
    data = data[:_HALF_BYTES]
    lines = data.split(b"\n")
    if len(lines) > _HALF_LINES:
        return b"\n".join(lines[:_HALF_LINES])
    return b"\n".join(lines[:-1]) if len(lines) > 1 else data


def _last_lines(data: bytes) -> bytes:
    data = data[-_HALF_BYTES:]
    lines = data.split(b"\n")
    if len(lines) > _HALF_LINES:
        return b"\n".join(lines[-_HALF_LINES:])
    return b"\n".join(lines[1:]) if len(lines) > 1 else data
