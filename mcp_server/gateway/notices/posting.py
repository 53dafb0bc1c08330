"""One POST to the webhook, bounded in time. No redirect is followed: what is signed for one address is not another's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from mcp_server.errors import ToolFailure
from mcp_server.tools.web.fetching import AGENT, pool_for
from mcp_server.tools.web.proxies import Proxies
from mcp_server.tools.web.urls import PORTS, Url
from mcp_server.tools.web.wires import Wires

SECONDS = 10.0
"""From connecting to the answer's head. Receivers are asked to take an event and work on it afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The server's answer; its text is not read."""

    status: int
    retry_after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """There was no answer."""

    reason: str
    """Without the address: it may hold a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poster:
    """Posts to one address."""

    url: Url
    wires: Wires
    seconds: float = SECONDS

    @property
    def host(self) -> str:
        """What a log may say of the address."""
        return self.url.authority

    async def __call__(self, body: bytes, headers: Mapping[str, str]) -> Told | Unanswered:
        """Try once."""
        try:
            with anyio.fail_after(self.seconds):
                return await self._post(body, headers)
        except TimeoutError:
            return Unanswered(reason=f"no answer within {self.seconds:g} s")

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> Told | Unanswered:
        import httpcore2  # noqa: PLC0415 - 90 ms of every start, for what few settings ask for

        url = self.url
        sent = {"Host": url.authority, "User-Agent": AGENT, "Content-Type": "application/json", "Connection": "close", **headers}
        sent["Content-Length"] = str(len(body))
        port = None if url.port == PORTS[url.scheme] else url.port
        target = httpcore2.URL(scheme=url.scheme, host=url.host, port=port, target=url.target)
        # Without TLS it is this machine itself that is meant, whatever a file of names or a proxy says.
        near = url.scheme == "http"
        wires = replace(self.wires, proxies=Proxies()) if near else self.wires
        try:
            addresses = await self._addresses(wires)
            async with (
                pool_for(url, wires, addresses) as pool,
                pool.stream("POST", target, headers=list(sent.items()), content=body) as response,
            ):
                told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                return Told(status=response.status, retry_after=told.get("retry-after", ""))
        except (httpcore2.ConnectError, httpcore2.ProxyError, ToolFailure) as error:
            return Unanswered(reason=f"it could not be reached ({_named(error)})")
        except OSError as error:
            return Unanswered(reason=f"its name is not known ({error.strerror})")
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            return Unanswered(reason=f"it did not answer as a web server does ({_named(error)})")

    async def _addresses(self, wires: Wires) -> Sequence[str] | None:
        """Where to connect; None: the proxy finds out. Looked up here, so that no name of which nobody says anything holds up our end."""
        if self.url.scheme == "http":
            return ("127.0.0.1", "::1") if self.url.host == "localhost" else None
        if wires.proxies.proxy_for(self.url):
            return None
        # Tried one after the other: a way by IPv6 that leads nowhere is silent for longer than a try has, one by IPv4 fails at once.
        return sorted(await wires.resolver(self.url.host, self.url.port), key=lambda address: ":" in address)


def _named(error: Exception) -> str:
    """The kind of failure, and the operating system's or TLS's own words where there are some."""
    cause = error.__cause__
    words = getattr(cause, "strerror", None) or getattr(cause, "reason", None)
    return str(words)[:200] if words else type(error).__name__
