"""A gateway's certificate, taken up anew once its files have changed: connections from then on are shown it, open ones stay."""

import os
import ssl
import time
from dataclasses import dataclass, field

import anyio
import structlog

from mcp_server.errors import ConfigError
from mcp_server.gateway.certificate import certificate_of, context_of, show
from mcp_server.settings.gateway import Tls

log = structlog.get_logger("gateway")

LOOK = 30.0
"""Seconds between two looks at the files. Who renews does so weeks before the end."""

Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True, kw_only=True)
class Renewing:
    """One certificate and its key."""

    tls: Tls
    context: ssl.SSLContext
    """What the server secures connections by. The same for as long as it runs."""
    faults: tuple[str, ...] = ()
    """What is wrong with the files as they lie there now; the certificate from before is shown meanwhile."""
    _stamp: Stamp = field(init=False)

    def __post_init__(self) -> None:
        self._stamp = self._stamped()

    def look(self) -> None:
        """Take them up where they have changed. A fault is logged."""
        stamp = self._stamped()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            ends_at = certificate_of(self.tls).ends_at
            show(self.context, self.tls)
        except ConfigError as error:
            self.faults = tuple(str(error).splitlines())
            log.error("the certificate that lies there now is of no use; the one from before is shown", faults=list(self.faults))
            return
        self.faults = ()
        log.info("the certificate was renewed", file=self.tls.certificate, until=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(ends_at)))

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await anyio.sleep(LOOK)
            self.look()

    def _stamped(self) -> Stamp:
        return tuple(_stamp_of(file) for file in (self.tls.certificate, self.tls.private_key))


def renewing_of(tls: Tls) -> Renewing:
    """As the files are now.

    Raises:
        ConfigError: They are of no use.
    """
    return Renewing(tls=tls, context=context_of(tls))


def _stamp_of(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
