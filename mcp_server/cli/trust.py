"""`remit trust`: let a workspace's own settings and agents count, as they are now. A change of `.remit/` asks again."""

import os
import time
from pathlib import Path

import click

from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe
from mcp_server.cli.terminal import Terminal, terminal
from mcp_server.cli.trusting import what_would_count
from mcp_server.errors import RemitError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import AuditEvent
from mcp_server.settings.folder import RemitFolder, read_folder
from mcp_server.settings.places import Places, find_places
from mcp_server.settings.trust import Trust, give_trust, trust_of, withdraw_trust
from mcp_server.settings.workspace import check_workspace

WORDS = {
    Trust.TRUSTED: "trusted, as it is now",
    Trust.CHANGED: "trusted once, but .remit/ has changed since: it counts as not trusted",
    Trust.NEVER: "not trusted",
}


class NothingToTrust(RemitError):
    """There is nothing that trust would change."""


@click.command(short_help="Let the agents and allows of a workspace count.")
@click.argument("workspace", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--status", is_flag=True, help="Only tell whether it is trusted, and what trust would let count.")
@click.option("--withdraw", is_flag=True, help="Trust it no more.")
def trust(workspace: Path, status: bool, withdraw: bool) -> None:
    """Trust a workspace's .remit/ folder: its agents and what its settings allow.

    What it denies or asks is heard in any case. Needs your terminal, and a code typed back there.
    """
    places = find_places(os.environ)
    real = check_workspace(workspace, places)
    folder = read_folder(real)
    standing = trust_of(real, folder, places.state)
    if status:
        click.echo(safe(f"{real}: {WORDS[standing]}"))
        click.echo(safe("\n".join(what_would_count(folder, places.home))))
    elif withdraw:
        _withdraw(real, places, standing)
    else:
        _trust(real, folder, places, standing)


def _trust(workspace: Path, folder: RemitFolder, places: Places, standing: Trust) -> None:
    if standing is Trust.TRUSTED:
        click.echo(safe(f"{workspace}: {WORDS[standing]}"))
        return
    lines = what_would_count(folder, places.home)
    if not folder.files:
        raise NothingToTrust(f"{workspace} has no settings and no agents of its own in .remit/; there is nothing to trust")
    with terminal() as person:
        _tell(person, workspace, WORDS[standing], lines)
        person.confirm("to trust it as it is now")
    _record(workspace, "trusted", folder.digest)
    give_trust(workspace, folder, places.state)
    click.echo(safe(f"trusted: {workspace}"))


def _withdraw(workspace: Path, places: Places, standing: Trust) -> None:
    if standing is Trust.NEVER:
        raise NothingToTrust(f"{workspace} is not trusted; there is nothing to withdraw")
    with terminal() as person:
        person.say(f"{workspace}: {WORDS[standing]}")
        person.confirm("to trust it no more")
    _record(workspace, "withdrawn", "")
    withdraw_trust(workspace, places.state)
    click.echo(safe(f"trusted no more: {workspace}"))


def _tell(person: Terminal, workspace: Path, standing: str, lines: tuple[str, ...]) -> None:
    person.say(f"{workspace}: {standing}\n\nTrusted, this would count:")
    for line in lines:
        person.say(f"  {line}")
    person.say("\nServers that run already hear of it with their next call.\n")


def _record(workspace: Path, outcome: str, digest: str) -> None:
    """Before the act: if this cannot be written, nothing is trusted."""
    event = AuditEvent(
        at=time.time(),
        kind="trust",
        principal=ME,
        session_id=SessionId(""),
        session_path=(),
        digest=digest,
        ruled_by=ME,
        outcome=outcome,
        ref=str(workspace),
    )
    with_store(lambda store: store.audit((event,)))
