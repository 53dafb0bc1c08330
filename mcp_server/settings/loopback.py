"""Which hosts are this machine: where plain http is no risk, since nobody else can read along. Cheap to import."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Is it an address of this machine, or `localhost`? No other name is looked up: what it leads to is somebody else's say."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
