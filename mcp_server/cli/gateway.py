"""`remit gateway`: what an operator does for a gateway beside its settings. Here: API keys for machines."""

import re
import time
from typing import Any

import click

from mcp_server.cli.lazy import LazyGroup
from mcp_server.cli.shown import NotFound
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import table
from mcp_server.cli.terminal import terminal
from mcp_server.errors import RemitError
from mcp_server.gateway.keys import changed, digest_of, new_key
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wording import age_of, elapsed_of
from mcp_server.store.api_keys import ApiKey
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}
HEADS = ("NAME", "ID", "STATE", "AGE", "LAST USED", "ENDS", "SCOPES")
ONCE = "This is the only time that it is shown. Keep it where the machine keeps its secrets:"


class NoSuchChange(RemitError):
    """The key is not one that can be changed so."""


class Span(click.ParamType[float]):
    """`30m`, `12h`, `90d`: seconds; `never`: without an end."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        if value == "never":
            return float("inf")
        span = re.fullmatch(r"([0-9]{1,6})([mhd])", str(value))
        if span is None or int(span[1]) == 0:
            self.fail(f"{value} is no span of time; write 30m, 12h, 90d, or never", param, ctx)
        return int(span[1]) * UNITS[span[2]]


PLACES = {
    "check": "mcp_server.cli.checks.gateway:check",
    "sessions": "mcp_server.cli.gateway_sessions:sessions",
    "usage": "mcp_server.cli.gateway_usage:usage",
    "backup": "mcp_server.cli.gateway_backup:backup",
    "restore": "mcp_server.cli.gateway_backup:restore",
}
"""What is written elsewhere."""


@click.group(cls=LazyGroup, places=PLACES)
def gateway() -> None:
    """Run a gateway for a team. Its settings are the managed ones; see docs/gateway.md."""


@gateway.group()
def key() -> None:
    """API keys, by which machines call a gateway. Each is shown once; a digest alone is kept."""


@key.command()
@click.argument("name")
@click.option("--expires", type=Span(), default="90d", show_default=True, help="When it ends: 30m, 12h, 90d, or never.")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="What single tools need beside what every request does.")
def create(name: str, expires: float, scopes: tuple[str, ...]) -> None:
    """Make a key for a machine. Needs your terminal, and a code typed back there."""
    if not NAME.fullmatch(name):
        raise click.BadParameter("use small letters, digits, `.`, `_` and `-`, at most 64, a letter or digit first", param_hint="NAME")

    async def made(store: Store) -> str:
        if any(one.name == name and one.revoked_at is None for one in await store.api_keys()):
            raise NoSuchChange(f"there is a key {name} already; rotate or revoke it, or take another name")
        now, text = time.time(), new_key()
        made = ApiKey(id=mint("key"), name=name, scopes=scopes, created_at=now, expires_at=_end(now, expires))
        with terminal() as person:
            person.say(f"{name} will be able to call this gateway as itself, {_until(made, now)}.")
            person.confirm("to make this key")
        await store.add_api_key(made, digest_of(text), (changed(made, "created", time.time(), by=ME),))
        return text

    _show(with_store(made))


@key.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that are revoked or have ended.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_keys(every: bool, as_json: bool) -> None:
    """List the keys, oldest first."""
    now = time.time()
    found = [one for one in with_store(_all) if every or _state(one, now) == "valid"]
    if as_json:
        for one in found:
            click.echo(json_line(_as_json(one, now)))
    elif found:
        click.echo(table(HEADS, [_row(one, now) for one in found]))
    else:
        click.echo("no key counts")


@key.command()
@click.argument("name")
@click.option("--expires", type=Span(), default="90d", show_default=True, help="When the new one ends.")
@click.option("--overlap", type=Span(), default="24h", show_default=True, help="How long the old one goes on beside it.")
def rotate(name: str, expires: float, overlap: float) -> None:
    """Replace a key. Who calls with the new one has the same sessions as with the old. Needs your terminal, and a code typed back there."""

    async def rotated(store: Store) -> str:
        now, text = time.time(), new_key()
        known = await _living(store, name)
        with terminal() as person:
            person.say(f"{name} gets another key. The old one ends in {elapsed_of(overlap)}.")
            person.confirm("to rotate this key")
        event = changed(known, "rotated", now, by=ME)
        if not await store.rotate_api_key(
            known.id, digest_of(text), now=now, old_until=now + overlap, expires_at=_end(now, expires), events=(event,)
        ):
            raise NoSuchChange("it was revoked meanwhile; nothing was changed")
        return text

    if overlap == float("inf"):
        raise click.BadParameter("an old key must end; write 30m, 12h or 7d", param_hint="--overlap")
    _show(with_store(rotated))


@key.command()
@click.argument("name")
def revoke(name: str) -> None:
    """End a key at once. Needs your terminal, and a code typed back there."""

    async def revoked(store: Store) -> None:
        known = await _living(store, name)
        with terminal() as person:
            person.say(f"{name}: from its next request on it is nobody. What it began goes on.")
            person.confirm("to revoke this key")
        if not await store.revoke_api_key(known.id, now=time.time(), events=(changed(known, "revoked", time.time(), by=ME),)):
            raise NoSuchChange("it was revoked already; nothing was changed")

    with_store(revoked)
    click.echo(f"revoked: {name}")


async def _all(store: Store) -> tuple[ApiKey, ...]:
    return await store.api_keys()


async def _living(store: Store, name: str) -> ApiKey:
    found = next((one for one in await store.api_keys() if one.name == name and one.revoked_at is None), None)
    if found is None:
        raise NotFound(f"no key is called {name}; see `remit gateway key list`")
    return found


def _show(text: str) -> None:
    """On standard output the key alone, so that it can be led into a file."""
    click.echo(ONCE, err=True)
    click.echo(text)


def _end(now: float, span: float) -> float | None:
    return None if span == float("inf") else now + span


def _until(one: ApiKey, now: float) -> str:
    return "without an end" if one.expires_at is None else f"for {elapsed_of(one.expires_at - now)}"


def _state(one: ApiKey, now: float) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "ended" if one.expires_at is not None and one.expires_at <= now else "valid"


def _row(one: ApiKey, now: float) -> tuple[str, ...]:
    ends = "never" if one.expires_at is None else elapsed_of(max(0.0, one.expires_at - now))
    used = "never" if one.used_at is None else age_of(one.used_at)
    return (one.name, one.id, _state(one, now), age_of(one.created_at), used, ends, " ".join(one.scopes))


def _as_json(one: ApiKey, now: float) -> dict[str, Any]:
    return {
        "name": one.name,
        "id": one.id,
        "state": _state(one, now),
        "scopes": list(one.scopes),
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "revoked_at": one.revoked_at,
        "used_at": one.used_at,
    }
