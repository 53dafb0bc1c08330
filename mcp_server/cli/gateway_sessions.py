"""`remit gateway sessions`: who has sessions at a gateway, and ending everything that somebody has there."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import click

from mcp_server.cli.shown import NotFound
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe, table
from mcp_server.cli.terminal import terminal
from mcp_server.gateway.keys import changed
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import API_KEYS, TokenPrincipal, principal_of
from mcp_server.records import AuditEvent
from mcp_server.sessions.ending import MOST, end_all_of
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wording import age_of
from mcp_server.store.protocol import Store

HEADS = ("PRINCIPAL", "ISSUER", "CLIENT", "OPEN", "WORK", "NEWEST")
BY = "an operator, with `remit gateway sessions revoke`"
EVERYBODY = '["'
"""What the keys of all that came by a gateway begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One principal, and what of theirs goes on."""

    who: TokenPrincipal
    open: int
    """Sessions that have not ended."""
    working: int
    """Runs that have not ended."""
    newest: float
    """When the newest of their sessions was begun. Seconds since the epoch."""


@click.group()
def sessions() -> None:
    """Who has sessions at the gateway, and ending what somebody has there. Visits of the console live in the server, and are not listed."""


@sessions.command("list")
@click.option("--all", "every", is_flag=True, help="Also those of whom nothing goes on.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_holders(every: bool, as_json: bool) -> None:
    """List who has sessions that are open or work that goes on, one line for each client of theirs."""
    holders = with_store(_holders)
    shown = [one for one in holders if every or one.open or one.working]
    if as_json:
        for one in shown:
            click.echo(json_line(_as_json(one, holders)))
    elif shown:
        click.echo(table(HEADS, [_row(one, holders) for one in shown]))
    else:
        click.echo("nobody has anything that goes on")


@sessions.command()
@click.argument("principal")
@click.option("--keys", is_flag=True, help="Of an API key: end that as well. Needs your terminal, and a code typed back there.")
def revoke(principal: str, keys: bool) -> None:
    """End everything that somebody has: sessions and their runs, open streams, visits of the console; and refuse their tokens from before.

    PRINCIPAL is one of `remit gateway sessions list`: a name, or as JSON [ISSUER, NAME], or [ISSUER, NAME, CLIENT] for that client alone.
    """

    async def revoked(store: Store) -> tuple[str, int, int, tuple[str, ...], bool]:
        name, principals = await _meant(store, principal)
        ids = await _keys_of(store, name, principals)
        if keys and ids:
            with terminal() as person:
                person.say(f"{_said(name)}: its API key will be nobody's from the next request on.")
                person.confirm("to revoke this key")
        now = time.time()
        told = tuple(_event(one, now) for one in principals or [_whole(name)])
        await store.revoke_all_of(name, at=now, events=told)
        for one in await store.api_keys() if keys else ():
            if one.id in ids:
                await store.revoke_api_key(one.id, now=now, events=(changed(one, "revoked", now, by=ME),))
        ended = await end_all_of(store, [one.key for one in principals], BY, at=now, ruled_by=ME)
        return name, *ended, () if keys else ids, bool(principals)

    name, roots, runs, left, known = with_store(revoked)
    click.echo(safe(f"{_said(name)}: {_count(roots, 'session')} ended, {_count(runs, 'run')} asked to end"))
    if not known:
        click.echo("nobody of that name had a session here: see that it is written as their issuer writes it, to the letter", err=True)
    if left:
        click.echo("its API key counts as before; end it with `remit gateway key revoke`, or give --keys")
    elif not keys:
        click.echo("tokens from before now are refused; who signs in anew is served as before")


# ---- who is meant -----------------------------------------------------------------------------------


async def _meant(store: Store, text: str) -> tuple[str, list[TokenPrincipal]]:
    """What is revoked, as the store names it, and the principals with sessions that it fits.

    Raises:
        NotFound: Nobody, or several issuers' people.
    """
    known = [one.who for one in await _holders(store)]
    if text.startswith("["):
        parts = _parts(text)
        name = json.dumps(parts, separators=(",", ":")) if len(parts) == 3 else json.dumps(parts, separators=(",", ":"))[:-1] + ","
        return name, [one for one in known if name in one.names]
    fits = [one for one in known if one.subject == text]
    beginnings = {one.beginning for one in fits}
    if len(beginnings) > 1:
        forms = ", ".join(sorted(f"'{one[:-1]}]'" for one in beginnings))
        raise NotFound(f"{text} is somebody by several issuers; name one of {forms}")
    if not beginnings:
        raise NotFound(f"nobody called {text} had a session here; see `remit gateway sessions list --all`, or write [ISSUER, NAME] as JSON")
    return beginnings.pop(), fits


def _parts(text: str) -> list[str]:
    try:
        read: object = json.loads(text)
    except ValueError:
        read = None
    parts = cast("list[object]", read) if isinstance(read, list) else []
    if len(parts) not in (2, 3) or not all(isinstance(part, str) and part for part in parts):
        raise click.BadParameter('write ["https://issuer", "name"], or with the client as a third', param_hint="PRINCIPAL")
    return cast("list[str]", parts)


def _whole(name: str) -> TokenPrincipal:
    """Somebody who has no session yet."""
    parts = json.loads(name if name.endswith("]") else f"{name[:-1]}]")
    return TokenPrincipal(issuer=parts[0], subject=parts[1], client=parts[2] if len(parts) > 2 else "")


async def _keys_of(store: Store, name: str, principals: Sequence[TokenPrincipal]) -> tuple[str, ...]:
    """The ids of API keys that stand for them."""
    meant = {one.subject for one in (*principals, _whole(name)) if one.issuer == API_KEYS}
    return tuple(one.id for one in await store.api_keys() if one.name in meant and one.revoked_at is None)


def _event(who: TokenPrincipal, now: float) -> AuditEvent:
    return AuditEvent(
        at=now,
        kind="session",
        principal=who.key,
        session_id=SessionId(""),
        session_path=(),
        ruled_by=ME,
        outcome=f"everything revoked by {BY}",
    )


# ---- who there is -----------------------------------------------------------------------------------


async def _holders(store: Store) -> list[Holder]:
    working = Counter(run.principal for run in await store.unfinished_runs())
    found: list[Holder] = []
    for key in await store.principals(EVERYBODY):
        who, roots = principal_of(key), await store.sessions(key, roots=True, limit=MOST)
        if isinstance(who, TokenPrincipal) and roots:
            standing = sum(root.ended_at is None for root in roots)
            found.append(Holder(who=who, open=standing, working=working[key], newest=roots[0].created_at))
    return found


def _form(one: Holder, holders: Sequence[Holder]) -> str:
    """What `revoke` takes for them, all clients of theirs together."""
    same = {other.who.beginning for other in holders if other.who.subject == one.who.subject}
    plain = len(same) == 1 and one.who.subject.isprintable() and not one.who.subject.startswith(("[", "-")) and " " not in one.who.subject
    return one.who.subject if plain else f"'{one.who.beginning[:-1]}]'"


def _row(one: Holder, holders: Sequence[Holder]) -> tuple[str, ...]:
    return (_form(one, holders), one.who.issuer, one.who.client, str(one.open), str(one.working), age_of(one.newest))


def _as_json(one: Holder, holders: Sequence[Holder]) -> dict[str, Any]:
    return {
        "principal": _form(one, holders).strip("'"),
        "issuer": one.who.issuer,
        "subject": one.who.subject,
        "client": one.who.client,
        "open": one.open,
        "working": one.working,
        "newest_at": one.newest,
    }


def _said(name: str) -> str:
    who = _whole(name)
    return f"{who.subject} by {who.issuer}" + (f" in {who.client}" if who.client else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
