"""What fetching hangs on besides its address: how names are looked up, which proxy stands between, which hosts are opened.

Made in the composition root; a test lends its own.
"""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_server.tools.web.hosts import PrivateHost, Resolver, system_resolver
from mcp_server.tools.web.proxies import Proxies

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkBackend


def _none() -> tuple[PrivateHost, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    """How the web is reached."""

    resolver: Resolver = system_resolver
    proxies: Proxies = field(default_factory=Proxies)
    private_hosts: Callable[[], Sequence[PrivateHost]] = _none
    """As the settings stand now."""
    network: "AsyncNetworkBackend | None" = None
    """Who connects; None: the operating system's sockets."""
    tls: ssl.SSLContext | None = None
    """Whom to believe; None: whom the operating system believes."""
