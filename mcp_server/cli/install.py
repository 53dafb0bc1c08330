"""`remit install`: write Remit's entry into an MCP client's configuration, shown first, with a backup, never twice."""

import difflib
import os
import re
import tempfile
from pathlib import Path

import click

from mcp_server.cli.client_files import ClientFile, client_file, entry, with_entry
from mcp_server.cli.table import safe
from mcp_server.cli.terminal import NobodyThere, terminal
from mcp_server.connect.reaching import checked_url
from mcp_server.errors import ConfigError, Fault, RemitError
from mcp_server.settings.places import find_places
from mcp_server.settings.workspace import check_workspace

NAME = re.compile(r"[a-zA-Z0-9_-]{1,20}")
"""Clients put it before every tool's name, and some hide what is longer than 60 together."""

CLIENTS = ("claude-desktop", "claude-code", "vscode", "cursor")


class NotInstalled(RemitError):
    """The client's configuration is as it was."""


@click.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--workspace", default=".", metavar="DIR", type=click.Path(path_type=Path), help="The workspace.  [current folder]")
@click.option("--connect", "address", metavar="URL", help="A bridge to the server at this address, in place of a server of your own.")
@click.option("--user", is_flag=True, help="Into your own configuration of the client, for every folder, instead of the workspace's.")
@click.option("--name", default="remit", show_default=True, metavar="NAME", help="What the client calls the server.")
@click.option("--print", "only_print", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Write without asking.")
def install(client: str, workspace: Path, address: str | None, user: bool, name: str, only_print: bool, yes: bool) -> None:
    """Write Remit's entry into an MCP client's configuration.

    Shows the change first and asks. What was there is kept beside the file; what else is in it stays.
    """
    if not NAME.fullmatch(name):
        raise click.BadParameter("1 to 20 letters, digits, - or _", param_hint="--name")
    places = find_places(os.environ)
    # A bridge works in no folder of this machine, so none can be the wrong one.
    folder = check_workspace(workspace, places) if address is None else workspace.absolute()
    file = client_file(client, folder, places.home, user=user)
    before = _text(file)
    after = with_entry(file, before, name, entry(file, os.environ, address and checked_url(address)))
    if after == before:
        click.echo(safe(f"{file.path}: the entry `{name}` is there already; nothing to do"))
        return
    click.echo(safe(_difference(file, before or "", after)))
    if only_print:
        return
    if not yes and not _agreed(file):
        raise NotInstalled("nothing was changed")
    kept = _write(file, before, after)
    click.echo(safe(f"written: {file.path}" + (f"\nwhat was there: {kept}" if kept else "")))
    click.echo(safe(file.then if address is None else f"Run `remit connect {address} --sign-in` once, then start {file.name} anew."))


def _text(file: ClientFile) -> str | None:
    try:
        return file.path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        fault = Fault(file=str(file.path), line=None, problem=f"cannot be read: {error}", remedy="mend that first")
        raise ConfigError((fault,)) from error


def _difference(file: ClientFile, before: str, after: str) -> str:
    name = str(file.path)
    return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm=""))


def _agreed(file: ClientFile) -> bool:
    try:
        with terminal() as person:
            return person.ask(f"Write this into {file.name}'s configuration? [y/N] ").lower() in ("y", "yes")
    except NobodyThere as error:
        raise NotInstalled("nothing was changed: there is no terminal to ask on; give --yes to write without asking") from error


def _write(file: ClientFile, before: str | None, after: str) -> Path | None:
    """Put the text in the file's place, whole or not at all. Returns where what was there is kept.

    Raises:
        NotInstalled: The file changed since it was shown, or cannot be written.
    """
    if _text(file) != before:
        raise NotInstalled(f"nothing was changed: {file.path} changed meanwhile; run this again")
    target = Path(os.path.realpath(file.path))  # a link to a person's own place stays one
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = None if before is None else _backup(file.path, target)
        _put(target, after)
    except OSError as error:
        raise NotInstalled(f"nothing was changed: {file.path} cannot be written: {error.strerror or error}") from error
    return kept


def _backup(path: Path, target: Path) -> Path:
    """A copy beside the file, under a name that is free."""
    number = 1
    while True:
        kept = path.with_name(f"{path.name}.before-remit" + (f"-{number}" if number > 1 else ""))
        try:
            descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "wb") as copy:
            copy.write(target.read_bytes())
        return kept


def _put(target: Path, text: str) -> None:
    """Such files hold keys of other servers: the mode is kept, and a new file is the person's alone."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as fresh:
            fresh.write(text)
            fresh.flush()
            os.fsync(fresh.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
