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
@workspace_option
def prune_sessions(days: int | None, megabytes: int | None, workspace: Path) -> None:
    """Remove trees of sessions that have ended and are old. The audit stays."""
    place = here(workspace)
    outputs = place.places.cache / "outputs"
    pruned = with_store(lambda store: prune(store, outputs, _keeping(place, days, megabytes), now=time.time()))
    click.echo(f"trees removed: {pruned.trees}, sessions: {pruned.sessions}; the audit keeps what they did")


def _keeping(place: Here, days: int | None, megabytes: int | None) -> Keeping:
    said = place.settings.retention
    return Keeping(days=days or said.days, megabytes=megabytes or said.megabytes)
