"""A session bus of a test's own, and on it what a desktop has: something that shows notices, something that opens addresses.

The bus is Debian's `dbus-daemon`. What is on it keeps all that it was told, and clicks when a test says so.
"""

import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_error, new_method_call, new_method_return, new_signal
from jeepney.io.asyncio import DBusConnection, open_dbus_connection

from tests.gateway.notices.receiver import BOUND

SHOWS = "org.freedesktop.Notifications"
OPENS = "org.freedesktop.portal.Desktop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One notice as it was handed over."""

    number: int
    replaces: int
    title: str
    body: str
    actions: list[str]


@dataclass(slots=True)
class Desk:
    """What was shown, taken back and opened."""

    address: str
    able: list[str] = field(default_factory=lambda: ["body", "body-markup", "actions"])
    mute: bool = False
    """Answers nothing."""
    shown: list[Shown] = field(default_factory=list[Shown])
    closed: list[int] = field(default_factory=list[int])
    opened: list[str] = field(default_factory=list[str])
    news: anyio.Event = field(default_factory=anyio.Event)
    _numbers: Any = field(default_factory=lambda: count(1))
    _connection: DBusConnection | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        return {"DBUS_SESSION_BUS_ADDRESS": self.address}

    async def until(self, there: Callable[["Desk"], object]) -> None:
        with anyio.fail_after(BOUND):
            while not there(self):
                await self.news.wait()

    async def shows(self, count: int) -> list[Shown]:
        await self.until(lambda desk: len(desk.shown) >= count)
        return self.shown

    async def click(self, shown: Shown) -> None:
        assert self._connection is not None
        emitter = DBusAddress("/org/freedesktop/Notifications", interface=SHOWS)
        await self._connection.send(new_signal(emitter, "ActionInvoked", "us", (shown.number, "default")))

    async def live(self, connection: DBusConnection) -> None:
        self._connection = connection
        while True:
            message = await connection.receive()
            if message.header.message_type is MessageType.method_call and not self.mute:
                await connection.send(self._answer(message))
                self.news.set()
                self.news = anyio.Event()

    def _answer(self, message: Message) -> Message:
        said: Any = message.body
        match message.header.fields[HeaderFields.member]:
            case "GetServerInformation":
                return new_method_return(message, "ssss", ("Tests", "Remit", "1", "1.2"))
            case "GetCapabilities":
                return new_method_return(message, "as", (self.able,))
            case "Notify":
                number = said[1] or next(self._numbers)
                self.shown.append(Shown(number=number, replaces=said[1], title=said[3], body=said[4], actions=said[5]))
                return new_method_return(message, "u", (number,))
            case "CloseNotification":
                self.closed.append(said[0])
                return new_method_return(message)
            case "OpenURI":
                self.opened.append(said[1])
                return new_method_return(message, "o", ("/request",))
            case _:
                return new_error(message, "org.freedesktop.DBus.Error.UnknownMethod")


@asynccontextmanager
async def bus(folder: Path) -> AsyncGenerator[str]:
    """Its address, for as long as the block lasts."""
    daemon = subprocess.Popen(  # noqa: ASYNC220 - it is there at once
        ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", f"--address=unix:tmpdir={folder}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert daemon.stdout is not None
        line = await anyio.to_thread.run_sync(daemon.stdout.readline)
        yield line.strip()
    finally:
        daemon.terminate()
        daemon.communicate(timeout=BOUND)


@asynccontextmanager
async def desk(folder: Path, *, empty: bool = False) -> AsyncGenerator[Desk]:
    """A desktop. `empty`: nothing on it shows notices."""
    async with bus(folder) as address:
        found = Desk(address=address)
        if empty:
            yield found
            return
        connection = await open_dbus_connection(address)
        try:
            for name in (SHOWS, OPENS):
                await _own(connection, name)
            async with anyio.create_task_group() as group:
                group.start_soon(found.live, connection)
                yield found
                group.cancel_scope.cancel()
        finally:
            await connection.close()


async def _own(connection: DBusConnection, name: str) -> None:
    driver = DBusAddress("/org/freedesktop/DBus", bus_name="org.freedesktop.DBus", interface="org.freedesktop.DBus")
    await connection.send(new_method_call(driver, "RequestName", "su", (name, 0)))
    while (await connection.receive()).header.message_type is not MessageType.method_return:
        pass
