"""`remit audit`: what happened at every doorway, oldest first."""

from collections.abc import Callable
from typing import Any

import click

from mcp_server.cli.proving import verify
from mcp_server.cli.replay import replay
from mcp_server.cli.shown import find_one
from mcp_server.cli.since import Since
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import table
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.exporting import FORMS, Form, as_object, exported
from mcp_server.sessions.searching import ACTIONS, KINDS, Filter, tabulated
from mcp_server.sessions.visible import json_line
from mcp_server.store.protocol import Store, StoredAudit


def filters(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say which events."""
    options = (
        click.option("--session", metavar="ID", help="Only this session."),
        click.option("--tree", metavar="ID", help="Only the tree that this session belongs to."),
        click.option("--tool", help="Only this tool."),
        click.option("--kind", type=click.Choice(KINDS), help="Only this kind of event."),
        click.option("--action", type=click.Choice(ACTIONS), help="Only decisions that came to this."),
        click.option("--since", type=Since(), help="Only later ones: 30m, 2h, 7d, or a date and time."),
        click.option("--ref", metavar="ID", help="Only what is about this call, prompt, ruling or run."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(invoke_without_command=True)
@filters
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(min=1), help="Read the newest so many.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def audit(ctx: click.Context, session: str | None, tree: str | None, limit: int, as_json: bool, **wanted: Any) -> None:
    """Show who did what, by which rule, and what came of it.

    Arguments are kept as digests, equal calls having equal ones, and as text without secrets where settings say so.
    """
    if ctx.invoked_subcommand is not None:
        return
    wants = Filter(**wanted)

    async def read(store: Store) -> tuple[StoredAudit, ...]:
        session_id, root_id = await _places(store, session, tree)
        return await store.audit_log(principal=ME, session_id=session_id, root_id=root_id, limit=limit)

    events = [stored for stored in with_store(read) if wants(stored.event)]
    if as_json:
        for stored in events:
            click.echo(json_line(as_object(stored)))
    elif events:
        click.echo(table(*tabulated([stored.event for stored in events])))
    else:
        click.echo("nothing to show")


@audit.command()
@filters
@click.option("--format", "form", type=click.Choice(FORMS), default="jsonl", show_default=True, help="How each is written.")
def export(session: str | None, tree: str | None, form: Form, **wanted: Any) -> None:
    """Write all events, oldest first, one JSON object a line. Arguments are digests, or redacted where settings say so."""
    wants = Filter(**wanted)

    async def write(store: Store) -> None:
        session_id, root_id = await _places(store, session, tree)
        async for line in exported(store, wants, form=form, principals=[ME], session_id=session_id, root_id=root_id):
            click.echo(line)

    with_store(write)


async def _places(store: Store, session: str | None, tree: str | None) -> tuple[SessionId | None, SessionId | None]:
    """The session, and the root of the tree, that were typed."""
    everyone = await store.sessions(ME, limit=100_000) if session or tree else ()
    one = find_one(everyone, session, lambda s: s.id, "session", "remit sessions") if session else None
    root = find_one(everyone, tree, lambda s: s.id, "session", "remit sessions") if tree else None
    return one.id if one else None, root.root_id if root else None


audit.add_command(verify)
audit.add_command(replay)
