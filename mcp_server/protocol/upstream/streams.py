"""Messages of the protocol over a program's standard input and output, one JSON text a line."""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams  # no public name has it
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_server.protocol.upstream.cleaning import cleaned
from mcp_server.sandbox.serving import Served

log = structlog.get_logger("upstream")

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one message: several times the largest picture that is passed on."""

CHUNK = 64 * 1024

WORDS_SECONDS = 0.5
"""How long the rest of standard error is waited for once a program says nothing more: what it started may hold it open."""

MOST_LINES, LINES_SECONDS = 5, 60.0
"""Lines that are no messages of which the log tells in so long. A program that prints what it does prints thousands; they are counted."""

LAST_WORDS = 2048
"""Bytes of standard error that are remembered: what a program says as it gives up stands at its end."""


class Words:
    """The end of what a program wrote to standard error."""

    def __init__(self, redacted: Callable[[str], str]) -> None:
        self._kept = bytearray()
        self._redacted = redacted
        self.whole = anyio.Event()
        """There is no more."""

    def take(self, data: bytes) -> None:
        """More of it."""
        self._kept += data
        del self._kept[:-LAST_WORDS]

    @property
    def last(self) -> str:
        """Its last line that says anything; empty: it said nothing."""
        lines = cleaned(self._kept.decode(errors="replace")).split("\n")
        return self._redacted(next((line.strip() for line in reversed(lines) if line.strip()), ""))[:300]


class Strange:
    """Lines of one program that are no messages."""

    def __init__(self, steady: Callable[[], float] = anyio.current_time) -> None:
        self._steady = steady
        self._since = float("-inf")
        self._told = 0
        self._left = 0

    def take(self, line: bytes) -> None:
        """One more. The log gets its length, not what it was: that may be anything."""
        now = self._steady()
        if now - self._since >= LINES_SECONDS:
            self._since, self._told = now, 0
        if self._told == MOST_LINES:
            self._left += 1
            return
        self._told += 1
        left, self._left = self._left, 0
        log.warning("a server wrote a line that is no message", bytes=len(line), **({"lines_before": left} if left else {}))

    def end(self) -> None:
        """There are no more."""
        if self._left:
            log.warning("a server wrote more lines that are no messages", lines=self._left)


@asynccontextmanager
async def streams_of(served: Served, words: Words, on_end: Callable[[str], None]) -> AsyncGenerator[TransportStreams]:
    """Its messages, both ways. `on_end`: told when it says nothing more, with the reason where it is another than its own end."""
    inward, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outward = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_reading, served.says, inward, words, on_end)
        group.start_soon(_writing, served.told, outward, on_end)
        group.start_soon(_listen, served.complains, words)
        try:
            yield read, write
        finally:
            group.cancel_scope.cancel()
            for stream in (read, write, inward, outward):
                stream.close()


async def _reading(
    says: int, inward: MemoryObjectSendStream[SessionMessage | Exception], words: Words, on_end: Callable[[str], None]
) -> None:
    strange = Strange()
    async with inward:
        try:
            async for line in _lines(says):
                await inward.send(_message(line, strange))
        except _TooLong:
            on_end(f"it sent a message of more than {LONGEST_LINE:,} bytes")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        finally:
            strange.end()
        with anyio.move_on_after(WORDS_SECONDS):
            await words.whole.wait()
        on_end(f"it ended; its last words: {words.last}" if words.last else "it ended")


async def _writing(told: int, outward: MemoryObjectReceiveStream[SessionMessage], on_end: Callable[[str], None]) -> None:
    async with outward:
        try:
            async for message in outward:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await _write(told, text.encode() + b"\n")
        except OSError:
            on_end("it reads nothing more")


class _TooLong(Exception):
    """One line of more than is taken."""


async def _lines(descriptor: int) -> AsyncGenerator[bytes]:
    """Whole lines that say anything, until there is no more."""
    left = bytearray()
    while data := await _read(descriptor):
        *whole, rest = data.split(b"\n")
        for line in whole:
            text = bytes(left + line).strip()
            left.clear()
            if text:
                yield text
        left += rest
        if len(left) > LONGEST_LINE:
            raise _TooLong


async def _read(descriptor: int) -> bytes:
    while True:
        await anyio.wait_readable(descriptor)
        try:
            return os.read(descriptor, CHUNK)
        except BlockingIOError:
            continue
        except OSError:
            return b""


async def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        await anyio.wait_writable(descriptor)
        try:
            view = view[os.write(descriptor, view[:CHUNK]) :]
        except BlockingIOError:
            continue


async def _listen(descriptor: int, words: Words) -> None:
    """To the end: a program whose complaints nobody reads stops at a full pipe."""
    while data := await _read(descriptor):
        words.take(data)
    words.whole.set()


def _message(line: bytes, strange: Strange) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        strange.take(line)
        return ValueError("a line that is no message of the protocol")
