"""The process's standard input and output, kept for the protocol alone: whatever else reads or prints, a browser that is opened too,
gets an empty input and standard error.
"""

import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import anyio
import anyio.to_thread

from mcp_server.errors import RemitError

LONGEST = 64 * 1024 * 1024
"""Bytes of one message. Far above what hosts send, and a bound for a host gone mad."""

_CHUNK = 64 * 1024


class HostGone(RemitError):
    """Nobody reads standard output any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Two descriptors that nobody else holds. Whoever ends while one of them blocks leaves a thread behind: end with `os._exit`."""

    incoming: int
    outgoing: int

    async def lines(self) -> AsyncGenerator[str]:
        """What the host sends, until it closes. Bytes that are no UTF-8 are replaced.

        Raises:
            HostGone: A line has no end.
        """
        held = bytearray()
        while chunk := await anyio.to_thread.run_sync(os.read, self.incoming, _CHUNK, abandon_on_cancel=True):
            held += chunk
            if b"\n" in chunk:
                *whole, rest = held.split(b"\n")
                held = bytearray(rest)
                for line in whole:
                    if line.strip():
                        yield line.decode("utf-8", "replace")
            elif len(held) > LONGEST:
                raise HostGone(f"a message of more than {LONGEST} bytes came on standard input; the bridge ends")

    async def write(self, line: str) -> None:
        """One message. Not to be called twice at once.

        Raises:
            HostGone: It cannot be written.
        """
        try:
            await anyio.to_thread.run_sync(_write, self.outgoing, line.encode("utf-8", "surrogatepass") + b"\n", abandon_on_cancel=True)
        except OSError as error:
            raise HostGone("nobody reads standard output any more") from error


def _write(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def take_standard_streams() -> Wire:
    """Keep both for the protocol, from now until the process ends."""
    wire = Wire(incoming=os.dup(0), outgoing=os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
