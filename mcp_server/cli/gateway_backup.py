"""`remit gateway backup` and `restore`: a whole copy of what a server keeps, taken while it runs, and put back while none does."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import click

from mcp_server.cli.archives import Contents, read, replace, write
from mcp_server.cli.state import FILE, ME
from mcp_server.cli.table import safe
from mcp_server.cli.terminal import terminal
from mcp_server.errors import StoreError
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import AuditEvent
from mcp_server.sessions.wording import time_of
from mcp_server.settings.places import find_places, private_folder
from mcp_server.store.snapshot import refuse_unfit, unused
from mcp_server.store.sqlite import open_store

Say = Callable[[str], None]
Sure = Callable[[Contents], None]

SECRETS = "It holds what people and agents said and did, and keys that the server signs with: keep it as you keep those."


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def backup(file: Path) -> None:
    """Write all that a server keeps in its state folder into a new FILE, readable for its owner alone. A server may run meanwhile.

    Run it as the user whose server it is. Settings, workspaces and saved outputs are not in it.
    """
    state = find_places(os.environ).state
    if not (state / FILE).exists():
        raise StoreError(f"there is no store in {state}; run this as the user whose server it is")
    if file.exists():
        raise click.BadParameter(f"{file} is there already; take another name", param_hint="FILE")
    try:
        write(state, file)
    except OSError as error:
        raise StoreError(f"{file} could not be written: {error.strerror or error}; nothing is left of it") from error
    click.echo(safe(f"{file}: {file.stat().st_size:,} bytes"))
    click.echo(SECRETS, err=True)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--unproven", is_flag=True, help="Restore it although its audit is not as it was written.")
def restore(file: Path, unproven: bool) -> None:
    """Put what FILE holds in the place of what is in the state folder, which is kept beside it. No server may run on it.

    Needs your terminal, and a code typed back there: what was revoked since the backup counts again.
    """
    with terminal() as person:
        state = private_folder(find_places(os.environ).state)
        kept = restored(file, state, unproven=unproven, sure=lambda made: _ask(person.say, person.confirm, file, made))
    click.echo(safe(f"restored; what was there is kept in {kept}"))


def _ask(say: Say, confirm: Say, file: Path, made: Contents) -> None:
    say(
        f"{file} was made at {time_of(made.made_at)} by Remit {made.remit}. All that came since is lost; keys, rulings and tokens that were"
    )
    say("revoked since count again.")
    confirm("to restore it")


def restored(file: Path, state: Path, *, unproven: bool, sure: Sure) -> Path:
    """Restore it. Where what was there before lies now. `sure`: asked once all was looked at; raises where it is not wanted.

    Raises:
        StoreError: A server runs, or the file holds no store that this Remit can read, whole and with its audit.
        Unfit: It is no backup.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=state) as made, unused(state / FILE):
            found = Path(made)
            contents = read(file, found)
            refuse_unfit(found / FILE)
            anyio.run(_proven, found / FILE, contents, unproven)
            sure(contents)
            kept = state / time.strftime("before-restore-%Y%m%d-%H%M%S", time.gmtime())
            replace(state, found, kept)
    except OSError as error:
        raise StoreError(f"{file} could not be restored: {error.strerror or error}; see what lies in {state} and its folders") from error
    return kept


async def _proven(database: Path, contents: Contents, unproven: bool) -> None:
    """Bring it up to this version where it is older, look at its whole audit, and have that tell of the restoring."""
    store = open_store(database)
    try:
        proof = await store.prove_audit()
        if proof.findings and not unproven:
            raise StoreError(f"its audit is not as it was written ({proof.findings[0]}); take an earlier backup, or give --unproven")
        outcome = f"restored from a backup of {time_of(contents.made_at)}"
        event = AuditEvent(
            at=time.time(), kind="session", principal=ME, session_id=SessionId(""), session_path=(), ruled_by=ME, outcome=outcome
        )
        await store.audit((event,))
    finally:
        await store.close()
