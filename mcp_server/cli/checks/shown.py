"""`remit gateway check` on what clients meet: the certificate, or the proxy in front, and the address for those who watch."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from mcp_server.cli.finding import Finding, findings_of
from mcp_server.cli.telling import lacking
from mcp_server.errors import ConfigError
from mcp_server.gateway.certificate import Certificate, certificate_of, context_of
from mcp_server.sessions.wording import elapsed_of
from mcp_server.settings.gateway import Gateway, Tls
from mcp_server.settings.loopback import is_loopback

SOON = 14 * 86400.0
"""Seconds before its end from which on a certificate is told of. Those that are renewed by themselves are, a month before."""


def shown(gateway: Gateway) -> Iterator[Finding]:
    """By what tokens are kept from being read on their way; and whether numbers can be told."""
    host = urlsplit(gateway.url or "").hostname or ""
    if gateway.tls is not None:
        yield from _certificate(gateway.tls, host, time.time())
    elif gateway.trusted_proxies:
        yield Finding(about="tls", state="ok", says=f"ends at a proxy in front: {', '.join(gateway.trusted_proxies)}")
    elif is_loopback(host):
        yield Finding(about="tls", state="ok", says="none, and callers are on this machine")
    else:
        says = "there is no certificate, and no proxy is named: only an address of this machine can be listened on"
        yield Finding(
            about="tls", state="note", says=says, remedy="set `gateway.tls`, or `gateway.trusted_proxies`", where=gateway.url or ""
        )
    if gateway.metrics is not None:
        yield _metrics(gateway.metrics.listen)


def _certificate(tls: Tls, host: str, now: float) -> Iterator[Finding]:
    try:
        context_of(tls)
        found = certificate_of(tls)
    except ConfigError as error:
        yield from findings_of("tls", error.faults)
        return
    if Path(tls.private_key).stat().st_mode & 0o007:
        yield Finding(
            about="tls", state="fault", where=tls.private_key, says="others may read it", remedy=f"chmod o-rwx '{tls.private_key}'"
        )
    if not found.is_for(host):
        says = f"is for {', '.join(found.names) or 'no host'}, and clients call {host}"
        yield Finding(about="tls", state="fault", where=tls.certificate, says=says, remedy="have it issued for the host of `gateway.url`")
    yield _lasting(found, tls.certificate, now)


def _lasting(found: Certificate, file: str, now: float) -> Finding:
    day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found.ends_at))
    if now < found.begins_at:
        return Finding(about="tls", state="fault", where=file, says="does not count yet", remedy="look at this machine's clock")
    if now >= found.ends_at:
        return Finding(about="tls", state="fault", where=file, says=f"ended on {day}", remedy="renew it")
    if found.ends_at - now < SOON:
        return Finding(
            about="tls", state="note", where=file, says=f"ends on {day}, in {elapsed_of(found.ends_at - now)}", remedy="renew it"
        )
    return Finding(about="tls", state="ok", where=file, says=f"counts until {day}")


def _metrics(listen: str) -> Finding:
    missing = lacking()
    if missing is None:
        return Finding(about="metrics", state="ok", says=f"told at {listen}")
    says = f"`gateway.metrics` needs {missing}, which is not installed"
    return Finding(about="metrics", state="fault", says=says, remedy="install Remit with the extra `metrics`, or remove the key")
