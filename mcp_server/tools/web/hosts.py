"""Which addresses are public, and which others a person's settings open. The connection is made to the very address judged here."""

import ipaddress
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import anyio
import anyio.from_thread
import anyio.lowlevel

from mcp_server.errors import ToolFailure
from mcp_server.tools.web.urls import Url, read_host

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Kind = Literal["public", "loopback", "private", "link-local", "multicast", "unspecified", "reserved"]

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name, best first. Raises OSError where it has none."""

_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::ffff:0:0:0/96"), ipaddress.IPv6Network("::/96"))
"""An IPv4 address stands in the last 32 bits, and that is where packets go."""

_SHARED = ipaddress.IPv4Network("100.64.0.0/10")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet")
"""Names that no public server has."""


_ENTRY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """What the operating system says. Each look-up has a thread of its own, which nobody waits for once it is not wanted any more: the
    event loop's own few threads would be taken by names whose servers do not answer, and would keep the process from ending.

    Raises:
        OSError: There is no such name, or nobody says.
    """
    answered, token = anyio.Event(), anyio.lowlevel.current_token()
    found = list[Sequence[str] | Exception]()

    def look() -> None:
        try:
            addresses = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
            found.append(tuple(dict.fromkeys(where for *_, (where, *_) in addresses if isinstance(where, str))))
        except Exception as error:
            found.append(error)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            anyio.from_thread.run_sync(answered.set, token=token)

    threading.Thread(target=look, name="name look-up", daemon=True).start()
    await answered.wait()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def kind_of_address(address: Address) -> Kind:
    """Where it leads, seen through every form that holds an IPv4 address."""
    if isinstance(address, ipaddress.IPv6Address):
        if (inner := _inner(address)) is not None:
            return kind_of_address(inner)
        if address in _LOCAL_NAT64 or address.is_site_local:
            return "private"
    told: tuple[tuple[Kind, bool], ...] = (
        ("unspecified", address.is_unspecified),
        ("loopback", address.is_loopback),
        ("link-local", address.is_link_local),
        ("multicast", address.is_multicast),
        ("public", address.is_global),
        ("reserved", address.is_reserved),
        ("private", address.is_private or address in _SHARED),
    )
    kinds: list[Kind] = [kind for kind, holds in told if holds]
    return kinds[0] if kinds else "reserved"


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _TRANSLATED) and int(address) > 1:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateHost:
    """One entry of `webfetch.private_hosts`: a host that may be reached although its address is not public."""

    host: str
    port: int | None
    """None: every port."""

    def names(self, url: Url) -> bool:
        """Is it this address' host?"""
        return url.host == self.host and self.port in (None, url.port)


def read_private_host(text: str) -> PrivateHost:
    """`name`, `name:port`, `192.0.2.1`, `[::1]:8000`.

    Raises:
        ToolFailure: It is none of these.
    """
    written = _ENTRY.fullmatch(text.strip())
    host, port = (written["host"], written["port"]) if written else (text.strip(), None)
    if port and not 0 < int(port) < 65536:
        raise ToolFailure(f"`{port}` is no port")
    return PrivateHost(host=read_host(host.removeprefix("[").removesuffix("]")), port=int(port) if port else None)


def listed(url: Url, private: Sequence[PrivateHost]) -> bool:
    """Do the settings open this host?"""
    return any(entry.names(url) for entry in private)


async def addresses_of(url: Url, private: Sequence[PrivateHost], resolver: Resolver) -> tuple[str, ...]:
    """Every address of the host, all of them fit to be connected to.

    Raises:
        ToolFailure: It has none, or one of them may not be reached.
        OSError: The name is not known.
    """
    try:
        found: Sequence[str] = (str(ipaddress.ip_address(url.host)),)
    except ValueError:
        found = await resolver(url.host, url.port)
    if not found:
        raise ToolFailure(f"{url.host} has no address")
    for text in found:
        refuse_unless_open(url, ipaddress.ip_address(text.partition("%")[0]), open_by_name=listed(url, private))
    return tuple(found)


def refuse_unless_open(url: Url, address: Address, *, open_by_name: bool) -> None:
    """Raise ToolFailure unless the address is public, or the settings open its host.

    A listed name opens loopback and private addresses. A link-local one (where clouds keep their machines' secrets) must be listed
    as that very address; the others lead nowhere.
    """
    kind = kind_of_address(address)
    opened = open_by_name and (kind in ("loopback", "private") or (kind == "link-local" and url.host == str(address)))
    if kind == "public" or opened:
        return
    what = url.host if url.host == str(address) else f"{url.host} ({address})"
    hint = f"; a person may list `{url.host}` under webfetch.private_hosts in their own settings" if not open_by_name else ""
    raise ToolFailure(f"{what} is a {kind} address, and only public ones are fetched; nothing was sent{hint}")


def refuse_local_name(url: Url, private: Sequence[PrivateHost]) -> None:
    """Raise ToolFailure for a name that only a private network knows: where a proxy looks names up, no address is seen here."""
    local = "." not in url.host and ":" not in url.host
    if (local or url.host.endswith(_LOCAL_ENDINGS)) and not listed(url, private):
        raise ToolFailure(f"{url.host} is a name of a private network, and only public ones are fetched; nothing was sent")
