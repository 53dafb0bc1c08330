"""`remit audit`: what happened at every doorway, oldest first."""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import click

from mcp_server.cli.ocsf import as_ocsf
from mcp_server.cli.proving import verify
from mcp_server.cli.replay import replay
from mcp_server.cli.shown import find_one
from mcp_server.cli.since import Since
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import json_line, table
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.searching import ACTIONS, HEADS, KINDS, Filter, row
from mcp_server.store.protocol import Store, StoredAudit

PAGE = 1000
"""Events read at once by an export, which may be of any length."""


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
            click.echo(json.dumps(as_object(stored), ensure_ascii=False))
    elif events:
        click.echo(table(HEADS, [row(stored.event) for stored in events]))
    else:
        click.echo("nothing to show")


@audit.command()
@filters
@click.option("--format", "form", type=click.Choice(["jsonl", "ocsf"]), default="jsonl", show_default=True, help="How each is written.")
def export(session: str | None, tree: str | None, form: str, **wanted: Any) -> None:
    """Write all events, oldest first, one JSON object a line. Arguments are digests, or redacted where settings say so."""
    wants, release = Filter(**wanted), version("remit")

    async def write(store: Store) -> None:
        session_id, root_id = await _places(store, session, tree)
        after = 0
        while events := await store.audit_page(principal=ME, session_id=session_id, root_id=root_id, after=after, limit=PAGE):
            for stored in events:
                if wants(stored.event):
                    told = as_object(stored)
                    click.echo(json_line(as_ocsf(stored, told, release) if form == "ocsf" else told))
            after = events[-1].seq

    with_store(write)


async def _places(store: Store, session: str | None, tree: str | None) -> tuple[SessionId | None, SessionId | None]:
    """The session, and the root of the tree, that were typed."""
    everyone = await store.sessions(ME, limit=100_000) if session or tree else ()
    one = find_one(everyone, session, lambda s: s.id, "session", "remit sessions") if session else None
    root = find_one(everyone, tree, lambda s: s.id, "session", "remit sessions") if tree else None
    return one.id if one else None, root.root_id if root else None


audit.add_command(verify)
audit.add_command(replay)


def as_object(stored: StoredAudit) -> dict[str, Any]:
    """One event with every field, actions and steps as words."""
    event = stored.event
    return {
        "seq": stored.seq,
        "at": event.at,
        "kind": event.kind,
        "principal": event.principal,
        "session": event.session_id,
        "path": list(event.session_path),
        "tool": event.tool,
        "digest": event.digest,
        "action": event.action.word if event.action is not None else None,
        "step": event.step.value if event.step is not None else None,
        "rules": list(event.rules),
        "ruled_by": event.ruled_by,
        "outcome": event.outcome,
        "ref": event.ref,
        **({"arguments": event.arguments} if event.arguments else {}),
        **({"trace": event.trace} if event.trace else {}),
    }
