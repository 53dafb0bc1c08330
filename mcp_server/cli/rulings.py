"""`remit rulings`: what a person has ruled, and taking it back."""

import json
import time
from typing import Any

import click

from mcp_server.cli.shown import find_one
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import table
from mcp_server.cli.terminal import terminal
from mcp_server.errors import RemitError
from mcp_server.records import RulingRecord
from mcp_server.sessions import events
from mcp_server.sessions.wording import age_of, elapsed_of, path_of, short
from mcp_server.store.protocol import Store

HEADS = ("ID", "AGE", "WHO", "REACH", "RULE", "STATE", "USED", "ENDS", "BY")


class NotRevoked(RemitError):
    """The ruling stands no longer, by itself or by somebody else."""


@click.group(invoke_without_command=True)
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

    async def read(store: Store) -> list[tuple[RulingRecord, tuple[str, ...], bool]]:
        standing = {record.id for record in await store.rulings(principal=ME, standing_at=now)}
        shown = await store.rulings(principal=ME, standing_at=None if spent else now)
        return [(record, await _path(store, record), record.id in standing) for record in shown]

    found = with_store(read)
    if as_json:
        for record, path, stands in found:
            click.echo(json.dumps(_as_json(record, path, stands), ensure_ascii=False))
    elif found:
        click.echo(table(HEADS, [_row(*one, now) for one in found]))
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
        path = await _path(store, record)
        with terminal() as person:
            person.say(f"{path_of(path)}, {record.reach.value}: {_rule(record)}")
            person.confirm("to revoke this ruling")
        now = time.time()
        if not await store.revoke(record.id, principal=ME, now=now, events=(events.ruled(now, record, path, "revoked", by=ME),)):
            raise NotRevoked("it did not stand any more; nothing was changed")
        return _rule(record)

    click.echo(f"revoked: {with_store(revoked)}")


def _row(record: RulingRecord, path: tuple[str, ...], stands: bool, now: float) -> tuple[str, ...]:
    return (
        short(record.id),
        age_of(record.created_at),
        path_of(path),
        record.reach.value,
        _rule(record),
        _state(record, stands),
        str(record.used),
        _end(record, stands, now),
        f"{record.given_by}, {record.channel}",
    )


def _end(record: RulingRecord, stands: bool, now: float) -> str:
    """How long it stands if nobody takes it back. Every ruling is over with its session."""
    if not stands:
        return ""
    return "its session" if record.expires_at is None else elapsed_of(record.expires_at - now)


async def _path(store: Store, record: RulingRecord) -> tuple[str, ...]:
    return tuple(session.agent for session in await store.chain(record.ruling.session_id))


def _rule(record: RulingRecord) -> str:
    return "that one call" if record.ruling.digest else str(record.ruling.rule)


def _state(record: RulingRecord, stands: bool) -> str:
    if stands:
        return "stands"
    if record.revoked_at is not None:
        return "revoked"
    return "used" if record.used else "expired"


def _as_json(record: RulingRecord, path: tuple[str, ...], stands: bool) -> dict[str, Any]:
    return {
        "id": record.id,
        "created_at": record.created_at,
        "session": record.ruling.session_id,
        "path": list(path),
        "reach": record.reach.value,
        "action": record.action.word,
        "rule": str(record.ruling.rule),
        "answers": [str(ask) for ask in record.ruling.answers],
        "given_by": record.given_by,
        "channel": record.channel,
        "expires_at": record.expires_at,
        "revoked_at": record.revoked_at,
        "used": record.used,
        "state": _state(record, stands),
    }
