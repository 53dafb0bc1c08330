"""One connection to the person's session bus (D-Bus): where it is, calls and their answers, signals.

What goes over it is read and written by jeepney, which is pure Python and does no input or output of its own.
"""

import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio

if TYPE_CHECKING:
    from jeepney import Message

UNANSWERED = 64
"""Calls that wait at once; with more of them nobody answers."""


class Refused(Exception):
    """The other side answered with an error; the text is its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An object on the bus, and the interface that is meant."""

    path: str
    name: str
    interface: str


DRIVER = Target(path="/org/freedesktop/DBus", name="org.freedesktop.DBus", interface="org.freedesktop.DBus")
"""The bus itself."""

Heard = Callable[[str, str, tuple[Any, ...]], None]
"""Told of each signal: its interface, its name, what it says."""


def address_of(environment: Mapping[str, str]) -> str | None:
    """Where the session bus listens. Clients often start servers with few variables, so that the usual place counts as well."""
    said = environment.get("DBUS_SESSION_BUS_ADDRESS", "")
    for one in said.split(";"):
        kind, _, rest = one.partition(":")
        keys: dict[str, str] = dict(part.split("=", 1) for part in rest.split(",") if "=" in part)
        if kind == "unix" and "path" in keys:
            return unquote(keys["path"])
        if kind == "unix" and "abstract" in keys:
            return "\0" + unquote(keys["abstract"])
    usual = Path(environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "bus"
    try:
        mine = usual.is_socket() and usual.stat().st_uid == os.getuid()
    except OSError:
        return None
    return str(usual) if mine and not said else None


def _jeepney():
    import jeepney  # noqa: PLC0415 - for the few who want notices on their desktop

    return jeepney


class Wire:
    """A connected socket. Not anyio's own stream: that one fails where it is cancelled in the moment in which something comes."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sending = anyio.Lock()

    async def send(self, octets: bytes) -> None:
        """All of it.

        Raises:
            OSError: The connection is gone.
        """
        async with self._sending:
            left = memoryview(octets)
            while left:
                try:
                    left = left[self._sock.send(left) :]
                except BlockingIOError:
                    await self._until(anyio.wait_writable)

    async def receive(self) -> bytes:
        """What comes next; empty: the other side has closed.

        Raises:
            OSError: The connection is gone.
        """
        while True:
            try:
                return self._sock.recv(65536)
            except BlockingIOError:
                await self._until(anyio.wait_readable)

    async def _until(self, ready: Callable[[socket.socket], Awaitable[None]]) -> None:
        try:
            await ready(self._sock)
        except anyio.ClosedResourceError as error:
            raise OSError("the connection was closed") from error

    def close(self) -> None:
        """At once, also under the hands of who waits."""
        if self._sock.fileno() >= 0:
            anyio.notify_closing(self._sock)
            self._sock.close()


class Bus:
    """A connection. Its calls are answered as long as somebody runs `receive`."""

    def __init__(self, wire: Wire, heard: Heard) -> None:
        self._wire = wire
        self._parser = _jeepney().Parser()
        self._heard = heard
        self._serials = count(1)
        self._waiting: dict[int, anyio.Event] = {}
        self._answers: dict[int, Message] = {}
        self.lost = False

    async def call(self, target: Target, method: str, signature: str | None = None, *body: object) -> tuple[Any, ...]:
        """Call a method and wait for what it answers.

        Raises:
            Refused: The answer is an error.
            OSError: The connection is gone.
        """
        words = _jeepney()
        if self.lost or len(self._waiting) >= UNANSWERED:
            raise OSError("the session bus does not answer")
        address = words.DBusAddress(target.path, bus_name=target.name, interface=target.interface)
        serial, answered = next(self._serials), anyio.Event()
        self._waiting[serial] = answered
        try:
            await self._wire.send(words.new_method_call(address, method, signature, body).serialise(serial=serial))
            await answered.wait()
        finally:
            self._waiting.pop(serial, None)
        answer = self._answers.pop(serial, None)
        if answer is None:
            raise OSError("the session bus has closed the connection")
        if answer.header.message_type is words.MessageType.error:
            raise Refused(str(answer.header.fields.get(words.HeaderFields.error_name, "")))
        return tuple(answer.body)

    async def receive(self) -> None:
        """Until the connection is gone."""
        try:
            while received := await self._wire.receive():
                self._parser.add_data(received)
                while (message := self._parser.get_next_message()) is not None:
                    self._take(message)
        except (OSError, ValueError, LookupError, TypeError, ArithmeticError, struct.error):
            return  # gone, or no D-Bus, which the parser says by whatever comes of it: either way there is nothing further to read
        finally:
            self.close()

    def _take(self, message: "Message") -> None:
        words = _jeepney()
        fields: dict[Any, Any] = dict(message.header.fields)
        if message.header.message_type is words.MessageType.signal:
            self._heard(str(fields.get(words.HeaderFields.interface)), str(fields.get(words.HeaderFields.member)), tuple(message.body))
            return
        serial = fields.get(words.HeaderFields.reply_serial, 0)
        if serial in self._waiting:
            self._answers[serial] = message
            self._waiting[serial].set()

    def close(self) -> None:
        """Let it go, at once."""
        self.lost = True
        self._wire.close()
        for event in self._waiting.values():
            event.set()


async def connect(address: str, heard: Heard) -> Bus:
    """A connection that is let in and has not said `Hello`.

    Raises:
        OSError: Nobody is there, or it does not let this user in.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    wire = Wire(sock)
    try:
        sock.connect(address)
        await _get_in(wire)
    except BaseException:
        wire.close()
        raise
    return Bus(wire, heard)


async def _get_in(wire: Wire) -> None:
    from jeepney.auth import BEGIN, AuthenticationError, Authenticator  # noqa: PLC0415 - see `_jeepney`

    way_in = Authenticator()
    try:
        while (step := way_in.data_to_send()) is not None:
            await wire.send(step)
            way_in.feed(await wire.receive() or b"closed\r\n")
    except AuthenticationError as error:
        raise OSError("the session bus does not let this user in") from error
    await wire.send(BEGIN)
