"""The real ways to other servers: over a program's standard streams, and over HTTP."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from mcp.client._transport import TransportStreams  # no public name has it

from mcp_server.protocol.upstream.blotting import Blots, blotted
from mcp_server.protocol.upstream.credentials import Credentials
from mcp_server.protocol.upstream.expanding import to_hide
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
        blots = Blots()
        if config.http:
            known = partial(credentials.bearer, name, config, whose.principal)
            inner = reached(config, whose, environment, ends.status, known, blots.send)
        else:
            words = Words(lambda text: redacted(blots.text(text)))
            ends.complaint = lambda: words.last
            inner = starting.started(name, config, whose, words, ends.end)
        return _blotted(inner, blots, {**config.env, **config.headers}, environment)

    return way


@asynccontextmanager
async def _blotted(
    inner: Transport, blots: Blots, given: Mapping[str, str], environment: Mapping[str, str]
) -> AsyncGenerator[TransportStreams]:
    """The same way, with what the server is given taken out of what it says."""
    blots.give(to_hide(given, environment))
    async with inner as streams:
        yield blotted(streams, blots)
