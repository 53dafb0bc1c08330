"""Notices by the freedesktop interface `org.freedesktop.Notifications` on the session bus."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from typing import Any, ParamSpec, TypeVar

import anyio
from anyio.abc import TaskGroup

from mcp_server.gateway.notices.bus import DRIVER, Bus, Refused, Target, address_of, connect
from mcp_server.gateway.notices.popups import SECONDS, NoPopups, Popup

T = TypeVar("T")
P = ParamSpec("P")

NOTIFICATIONS = Target(
    path="/org/freedesktop/Notifications", name="org.freedesktop.Notifications", interface="org.freedesktop.Notifications"
)
PORTAL = Target(path="/org/freedesktop/portal/desktop", name="org.freedesktop.portal.Desktop", interface="org.freedesktop.portal.OpenURI")
"""Opens addresses for programs that need not know what with."""

CLICK = "default"
"""By the interface's rules: a click on the notice itself."""

LASTS = -1
"""How long a notice is shown: as its server has it for all."""

_REMEDY = "start a notification daemon in your session, or take `desktop` out of `channels`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What shows notices, as it describes itself."""

    name: str
    markup: bool
    """It reads a notice's body as markup."""
    actions: bool


class OnBus:
    """See `Popups`. Connects when there is something to show, and again where the connection was lost."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._group: TaskGroup | None = None
        self._bus: Bus | None = None
        self._server = Server(name="", markup=True, actions=False)
        self._links: dict[int, str] = {}
        """What a click on a notice that is shown leads to, by its number."""

    @asynccontextmanager
    async def at_hand(self) -> AsyncGenerator[None]:
        """See `Popups`."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                group.cancel_scope.cancel()
                if self._bus is not None:
                    self._bus.close()  # and with it ends who receives

    @property
    def alive(self) -> bool:
        """There is a connection."""
        return self._bus is not None and not self._bus.lost

    async def show(self, popup: Popup, *, instead_of: int = 0) -> int:
        """See `Popups`."""
        number = await _bounded(self._show, popup, instead_of)
        self._links.pop(instead_of, None)
        if popup.link is not None:
            self._links[number] = popup.link
        return number

    async def close(self, number: int) -> None:
        """See `Popups`."""
        self._links.pop(number, None)
        if self._bus is None or not number:
            return
        try:
            with anyio.move_on_after(SECONDS):
                await self._bus.call(NOTIFICATIONS, "CloseNotification", "u", number)
        except (Refused, OSError):
            return

    async def describe(self) -> str:
        """See `Popups`."""
        await _bounded(self._ready)
        return self._server.name

    async def _show(self, popup: Popup, instead_of: int) -> int:
        bus = await self._ready()
        body = "\n".join(popup.lines)
        text = escape(body, quote=False) if self._server.markup else body
        actions = [CLICK, "Open the console"] if popup.link is not None and self._server.actions else []
        hints = {"urgency": ("y", 1), "category": ("s", "im.received")}
        said = ("Remit", instead_of, "dialog-question", popup.title, text, actions, hints, LASTS)
        (number,) = await bus.call(NOTIFICATIONS, "Notify", "susssasa{sv}i", *said)
        return int(number)

    async def _ready(self) -> Bus:
        if self._bus is not None and not self._bus.lost:
            return self._bus
        address = address_of(self._environment)
        if address is None or self._group is None:
            raise NoPopups(f"there is no session bus: DBUS_SESSION_BUS_ADDRESS names none, nor is one at its usual place; {_REMEDY}")
        self._links.clear()
        bus = await connect(address, self._heard)
        try:
            self._group.start_soon(_receive, bus)
            await bus.call(DRIVER, "Hello")
            self._server = await _ask(bus)
            match = f"type='signal',sender='{NOTIFICATIONS.name}',interface='{NOTIFICATIONS.interface}'"
            await bus.call(DRIVER, "AddMatch", "s", match)
        except BaseException:
            bus.close()
            raise
        self._bus = bus
        return bus

    def _heard(self, interface: str, signal: str, said: tuple[Any, ...]) -> None:
        if interface != NOTIFICATIONS.interface or not said:
            return
        link = self._links.get(said[0])
        if signal == "ActionInvoked" and link is not None and self._group is not None:
            self._group.start_soon(self._open, link)
        elif signal == "NotificationClosed":
            self._links.pop(said[0], None)

    async def _open(self, link: str) -> None:
        """In the person's browser, by the desktop's own door. Where there is none, the notice has the address too."""
        if self._bus is None:
            return
        try:
            with anyio.move_on_after(SECONDS):
                await self._bus.call(PORTAL, "OpenURI", "ssa{sv}", "", link, {})
        except (Refused, OSError):
            return


async def _receive(bus: Bus) -> None:
    """Until the connection is closed, by either side: what is shown is taken back by calls too, after all else was cancelled."""
    with anyio.CancelScope(shield=True):
        await bus.receive()


async def _ask(bus: Bus) -> Server:
    name, vendor, version, _ = await bus.call(NOTIFICATIONS, "GetServerInformation")
    (able,) = await bus.call(NOTIFICATIONS, "GetCapabilities")
    return Server(name=f"{name} {version} ({vendor})", markup="body-markup" in able, actions="actions" in able)


async def _bounded(act: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """What it returns, or in the words of a person who can do something about it why not."""
    try:
        with anyio.fail_after(SECONDS):
            return await act(*args, **kwargs)
    except TimeoutError:
        raise NoPopups(f"the session bus, or what shows notices on it, did not answer within {SECONDS:g} s; {_REMEDY}") from None
    except Refused as error:
        raise NoPopups(f"nothing on the session bus shows notices ({error}); {_REMEDY}") from None
    except (OSError, ValueError, TypeError) as error:  # the latter two: an answer of another shape than the interface has
        raise NoPopups(f"the session bus cannot be used ({error}); {_REMEDY}") from None
