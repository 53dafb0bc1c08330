"""`remit sessions prune`: removes what has ended and is older than is to be kept."""

import time
from pathlib import Path

import click

from mcp_server.cli.here import Here, here, workspace_option
from mcp_server.cli.state import with_store
from mcp_server.sessions.retention import Keeping, prune


@click.command("prune")
@click.option("--days", type=click.IntRange(min=1), help="Trees of which nothing was heard for so long.  [what settings say]")
@click.option("--megabytes", type=click.IntRange(min=1), help="Then those silent longest, until it is smaller.  [what settings say]")
@click.option("--audit-days", type=click.IntRange(min=1), help="Events of the audit that are older.  [what settings say]")
@workspace_option
def prune_sessions(days: int | None, megabytes: int | None, audit_days: int | None, workspace: Path) -> None:
    """Remove trees of sessions that have ended and are old. The audit stays, but for what is older than it is to be kept."""
    place = here(workspace)
    outputs = place.places.cache / "outputs"
    pruned = with_store(lambda store: prune(store, outputs, _keeping(place, days, megabytes, audit_days), now=time.time()))
    click.echo(f"trees removed: {pruned.trees}, sessions: {pruned.sessions}; the audit keeps what they did")
    if pruned.events:
        click.echo(f"events removed from the audit: {pruned.events}; their checkpoints stay")


def _keeping(place: Here, days: int | None, megabytes: int | None, audit_days: int | None) -> Keeping:
    said = place.settings.retention
    return Keeping(days=days or said.days, megabytes=megabytes or said.megabytes, audit_days=audit_days or said.audit_days)
