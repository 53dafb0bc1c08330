"""`remit gateway check` on API keys: which count, which have ended or soon will."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mcp_server.cli.finding import Finding
from mcp_server.cli.state import FILE
from mcp_server.errors import StoreError
from mcp_server.sessions.wording import elapsed_of
from mcp_server.store.api_keys import ApiKey
from mcp_server.store.glance import glance
from mcp_server.store.sqlite import open_store

SOON = 7 * 86400.0
"""Seconds before its end from which on a key is told of: time to hand out another."""


async def keys_of(state: Path) -> tuple[ApiKey, ...]:
    """Those of the store in that folder. None where there is no store of this version: a look must not bring it up to it."""
    path = state / FILE
    try:
        if not path.exists() or glance(path, whole=False).is_older:
            return ()
        store = open_store(path)
        try:
            return await store.api_keys()
        finally:
            await store.close()
    except StoreError:
        return ()  # what is wrong with it is said where the state folder is looked at


def keys(known: Sequence[ApiKey], now: float, *, alone: bool) -> Iterator[Finding]:
    """`alone`: there is no issuer, so that nobody else can come in."""
    living = [one for one in known if one.revoked_at is None]
    valid = [one for one in living if one.counts(now)]
    for one in living:
        if one.expires_at is not None and one.expires_at <= now:
            says, remedy = f"{one.name} has ended", f"`remit gateway key rotate {one.name}`, or `revoke` it"
            yield Finding(about="keys", state="note", says=says, remedy=remedy)
        elif one.expires_at is not None and one.expires_at - now < SOON:
            says = f"{one.name} ends in {elapsed_of(one.expires_at - now)}"
            yield Finding(about="keys", state="note", says=says, remedy=f"`remit gateway key rotate {one.name}`")
    if alone and not valid:
        remedy = "`remit gateway key create NAME`, or set `gateway.issuers`"
        yield Finding(about="keys", state="fault", says="nobody can come in: there is no issuer, and no API key counts", remedy=remedy)
    else:
        revoked = len(known) - len(living)
        yield Finding(about="keys", state="ok", says=f"{len(valid)} count" + (f", {revoked} revoked" if revoked else ""))
