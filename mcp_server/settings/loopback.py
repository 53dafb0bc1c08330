"""Hosts as numbers, and which of them are this machine: where plain http is no risk, since nobody else can read along. Cheap to import."""

import ipaddress
from urllib.parse import urlsplit

Numbers = ipaddress.IPv4Address | ipaddress.IPv6Address


def numbers_of(host: str) -> Numbers | None:
    """The address that is written, `localhost` for 127.0.0.1. A name is not looked up: what it leads to is another file's say."""
    literal = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        return ipaddress.ip_address(literal)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Is it an address of this machine, or `localhost`? No other name is looked up: what it leads to is somebody else's say."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_guarded(address: str) -> bool:
    """Can nobody on the way read along? On https, or within this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
