"""The real ways to other servers: over a program's standard streams, and over HTTP."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from mcp_server.protocol.upstream.credentials import Credentials
from mcp_server.protocol.upstream.link import Ends, Transport
from mcp_server.protocol.upstream.servers import Opener
from mcp_server.protocol.upstream.starting import Starting
from mcp_server.protocol.upstream.streams import Words
from mcp_server.protocol.upstream.web import reached
from mcp_server.sandbox.enclosing import Enclosing
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.foreign import Whose

Redacted = Callable[[str], str]


def opener_of(
    environment: Mapping[str, str],
    harmless: Mapping[str, str],
    enclosing: Enclosing | None,
    temporary: Path,
    redacted: Redacted,
    credentials: Credentials,
) -> Opener:
    """The real ways. `environment`: of Remit itself, for what settings name of it; `harmless`: what every program gets."""
    starting = Starting(environment=environment, harmless=harmless, enclosing=enclosing, temporary=temporary)

    def way(name: str, config: Upstream, whose: Whose, ends: Ends) -> Transport:
        if config.http:
            return reached(config, whose, environment, ends.status, partial(credentials.bearer, name, config, whose.principal))
        return starting.started(name, config, whose, Words(redacted), ends.end)

    return way
