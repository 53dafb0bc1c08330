"""Which proxy an address is fetched through, as `HTTPS_PROXY` and its kin say."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_server.tools.web.urls import Url


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """None: none."""

    http: str | None = None
    https: str | None = None
    direct: tuple[str, ...] = ()
    """Hosts, and with a dot before them or without, all hosts below them, that need none; `*`: all."""

    def proxy_for(self, url: Url) -> str | None:
        """The proxy's address."""
        for host in self.direct:
            name = host.removeprefix("*").removeprefix(".")
            if host == "*" or name in (url.host, f"{url.host}:{url.port}") or url.host.endswith(f".{name}"):
                return None
        return self.https if url.scheme == "https" else self.http


def proxies_of(environment: Mapping[str, str]) -> Proxies:
    """From the environment, the small letters first, as curl has it."""

    def said(name: str) -> str | None:
        return environment.get(name.lower()) or environment.get(name) or None

    every = said("ALL_PROXY")
    direct = tuple(host.strip().lower() for host in (said("NO_PROXY") or "").split(",") if host.strip())
    return Proxies(http=said("HTTP_PROXY") or every, https=said("HTTPS_PROXY") or every, direct=direct)
