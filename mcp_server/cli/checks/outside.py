"""`remit gateway check` on what lies elsewhere: issuers and their keys, introspection, the place where people sign in. Sends no token."""

import time
from collections.abc import AsyncIterator

from mcp_server.cli.finding import Finding, findings_of
from mcp_server.errors import ConfigError
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.introspection import Asking
from mcp_server.gateway.issuers import Keys
from mcp_server.gateway.oidc import Client, client_of, endpoints_of
from mcp_server.gateway.verified import Refused
from mcp_server.settings.gateway import Gateway, Issuer

REACH = "see whether this machine reaches it, and whether `issuer` is written as the issuer's metadata writes itself"


async def outside(gateway: Gateway, *, offline: bool) -> list[Finding]:
    """All of it, with the server's own eyes. `offline`: only what lies on this machine, such as secrets."""
    fetcher = Fetcher()
    try:
        issuers = [finding async for finding in _issuers(gateway, fetcher, offline)]
        return [*issuers, *[finding async for finding in _console(gateway, fetcher, offline)]]
    finally:
        await fetcher.close()


async def _issuers(gateway: Gateway, fetcher: Fetcher, offline: bool) -> AsyncIterator[Finding]:
    for issuer in gateway.issuers:
        if offline:
            yield Finding(
                about="issuer", state="ok", where=issuer.issuer, says=f"not asked now; may sign by {', '.join(issuer.algorithms)}"
            )
        else:
            yield await _keys(issuer, fetcher)
        if issuer.introspection is not None:
            yield await _introspection(issuer, gateway, fetcher, offline)


async def _keys(issuer: Issuer, fetcher: Fetcher) -> Finding:
    keys = Keys(issuer, fetcher, time.monotonic)
    lacks = await keys.lacking()
    if lacks:
        return Finding(about="issuer", state="fault", where=issuer.issuer, says=lacks, remedy=REACH)
    if not keys.served:
        says = f"none of its keys is for {', '.join(issuer.algorithms)}: no token of its counts"
        return Finding(about="issuer", state="fault", where=issuer.issuer, says=says, remedy="set `algorithms` to what it signs by")
    return Finding(about="issuer", state="ok", where=issuer.issuer, says=f"its keys are there, for {', '.join(keys.served)}")


async def _introspection(issuer: Issuer, gateway: Gateway, fetcher: Fetcher, offline: bool) -> Finding:
    where = issuer.introspection.url if issuer.introspection is not None else ""
    try:
        asking = Asking(issuer, issuer.audience or gateway.url or "", fetcher, time.time)
    except ConfigError as error:
        return findings_of("introspection", error.faults)[0]
    lacks = "" if offline else await asking.lacking()
    if lacks:
        remedy = "see whether the address, `client_id` and the secret are those that the issuer gave"
        return Finding(about="introspection", state="fault", where=where, says=lacks, remedy=remedy)
    return Finding(about="introspection", state="ok", where=where, says="not asked now" if offline else "answers")


async def _console(gateway: Gateway, fetcher: Fetcher, offline: bool) -> AsyncIterator[Finding]:
    if gateway.console is None:
        return
    try:
        found = client_of(gateway)
    except ConfigError as error:
        for finding in findings_of("console", error.faults):
            yield finding
        return
    if found is None:
        yield Finding(about="console", state="ok", where=gateway.console_url or "", says="people come in with API keys alone")
        return
    issuer, client = found
    if offline:
        yield Finding(
            about="console", state="ok", where=gateway.console_url or "", says=f"people sign in at {issuer.issuer}; not asked now"
        )
        return
    async for finding in _sign_in(issuer, client, fetcher):
        yield finding


async def _sign_in(issuer: Issuer, client: Client, fetcher: Fetcher) -> AsyncIterator[Finding]:
    try:
        said = await endpoints_of(issuer, fetcher)
    except Refused as error:
        yield Finding(about="console", state="fault", where=issuer.issuer, says=str(error), remedy=REACH)
        return
    if not said.proves:
        says = "it does not know S256 (PKCE), by which whoever signs in proves to be who began it"
        yield Finding(about="console", state="fault", where=issuer.issuer, says=says, remedy="switch it on for this client, at the issuer")
    unknown = [scope for scope in client.scopes if said.scopes is not None and scope not in said.scopes]
    if unknown:
        says = f"its metadata does not name the scopes {', '.join(unknown)}"
        yield Finding(about="console", state="note", where=issuer.issuer, says=says, remedy="look at `gateway.console.scopes`")
    says = f"people sign in as the client {client.id}; at the issuer its redirect address must be {client.redirect}"
    yield Finding(about="console", state="ok", where=issuer.issuer, says=says)
