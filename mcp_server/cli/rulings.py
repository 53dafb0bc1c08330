"""`remit rulings`: what a person has ruled, and taking it back."""

import time
from functools import partial
from typing import Any

import click

from mcp_server.cli.shown import find_one
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import table
from mcp_server.cli.terminal import terminal
from mcp_server.errors import RemitError
from mcp_server.sessions.standing_rulings import Ruled, read_ruled, ruled, take_back
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wording import age_of, elapsed_of, path_of, short
from mcp_server.store.protocol import Store

HEADS = ("ID", "AGE", "WHO", "REACH", "RULE", "STATE", "USED", "ENDS", "BY")


class NotRevoked(RemitError):
    """The ruling stands no longer, by itself or by somebody else."""


@click.group(invoke_without_command=True, short_help="What you have allowed or denied, and taking it back.")
@click.option("--all", "spent", is_flag=True, help="Also those that are used up, expired or revoked.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def rulings(ctx: click.Context, spent: bool, as_json: bool) -> None:
    """What you have allowed or denied in answer to prompts, as long as it stands."""
    if ctx.invoked_subcommand is None:
        _list(spent, as_json)


@rulings.command("list")
@click.option("--all", "spent", is_flag=True, help="Also those that are used up, expired or revoked.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_rulings(spent: bool, as_json: bool) -> None:
    """List the rulings that stand, oldest first."""
    _list(spent, as_json)


def _list(spent: bool, as_json: bool) -> None:
    now = time.time()

    found = with_store(partial(read_ruled, principal=ME, now=now, spent=spent))
    if as_json:
        for one in found:
            click.echo(json_line(_as_json(one)))
    elif found:
        click.echo(table(HEADS, [_row(one, now) for one in found]))
    else:
        click.echo("no ruling stands")


@rulings.command()
@click.argument("ruling_id", metavar="ID")
def revoke(ruling_id: str) -> None:
    """Take a ruling back: what it answered asks again. Needs your terminal, and a code typed back there."""

    async def revoked(store: Store) -> str:
        record = find_one(
            await store.rulings(principal=ME, standing_at=time.time()), ruling_id, lambda r: r.id, "standing ruling", "remit rulings"
        )
        one = await ruled(store, record, stands=True)
        with terminal() as person:
            person.say(f"{path_of(one.path)}, {record.reach.value}: {one.rule}")
            person.confirm("to revoke this ruling")
        if not await take_back(store, one, by=ME, now=time.time()):
            raise NotRevoked("it did not stand any more; nothing was changed")
        return one.rule

    click.echo(f"revoked: {with_store(revoked)}")


def _row(one: Ruled, now: float) -> tuple[str, ...]:
    record = one.record
    return (
        short(record.id),
        age_of(record.created_at),
        path_of(one.path),
        record.reach.value,
        one.rule,
        one.state,
        str(record.used),
        _end(one, now),
        f"{record.given_by}, {record.channel}",
    )


def _end(one: Ruled, now: float) -> str:
    """How long it stands if nobody takes it back. Every ruling is over with its session."""
    if not one.stands:
        return ""
    ends = one.record.expires_at
    return "its session" if ends is None else elapsed_of(ends - now)


def _as_json(one: Ruled) -> dict[str, Any]:
    record = one.record
    return {
        "id": record.id,
        "created_at": record.created_at,
        "session": record.ruling.session_id,
        "path": list(one.path),
        "reach": record.reach.value,
        "action": record.action.word,
        "rule": str(record.ruling.rule),
        "answers": [str(ask) for ask in record.ruling.answers],
        "given_by": record.given_by,
        "channel": record.channel,
        "expires_at": record.expires_at,
        "revoked_at": record.revoked_at,
        "used": record.used,
        "state": one.state,
    }
