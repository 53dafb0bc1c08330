"""`remit gateway check`: may a gateway be let loose with these settings? Changes nothing; asks issuers, and sends no token."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import click

from mcp_server.cli.checks.cases import cases
from mcp_server.cli.checks.keys import keys, keys_of
from mcp_server.cli.checks.outside import outside
from mcp_server.cli.checks.people import people
from mcp_server.cli.checks.reading import books_at, roll, settings
from mcp_server.cli.checks.shown import shown
from mcp_server.cli.checks.upstreams import upstreams
from mcp_server.cli.doctor_state import state_folder
from mcp_server.cli.finding import Finding, findings_of, tell
from mcp_server.cli.here import workspace_option
from mcp_server.errors import ConfigError, WorkspaceRefused
from mcp_server.settings.places import Places, find_places


@click.command()
@workspace_option
@click.option("--offline", is_flag=True, help="Ask nobody: no issuer, no address.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.argument("case_files", metavar="[CASES...]", nargs=-1, type=click.Path(path_type=Path))
def check(workspace: Path, offline: bool, as_json: bool, case_files: tuple[Path, ...]) -> None:
    """Say whether a gateway may be let loose with the settings as they are: settings, teams, keys, issuers, certificate, console, store,
    other MCP servers.

    Run it as the user whose server it is, and name the workspace that the server is started for. CASES are files for `remit test`.
    Ends with 1 where something must be mended first.
    """
    tell(findings(workspace, find_places(os.environ), offline=offline, case_files=case_files), as_json=as_json)


def findings(workspace: Path, places: Places, *, offline: bool, case_files: Sequence[Path] = ()) -> Iterator[Finding]:
    """All of it, from what everything else hangs on to what lies elsewhere."""
    yield from state_folder(places.state)
    try:
        books = books_at(workspace, places)
    except ConfigError as error:
        yield from findings_of("settings", error.faults)
        return
    except WorkspaceRefused as error:
        yield Finding(about="workspace", state="fault", says=str(error))
        return
    yield from settings(books)
    gateway = books.own.edition.settings.gateway
    if gateway is not None:
        known, now = anyio.run(keys_of, places.state), time.time()
        yield from people(roll(books, known, now))
        yield from keys(known, now, alone=not gateway.issuers)
        yield from shown(gateway)
        yield from anyio.run(lambda: outside(gateway, offline=offline))
    yield from upstreams(books.own.edition.settings.upstreams, os.environ, str(workspace))
    yield from cases(case_files)
