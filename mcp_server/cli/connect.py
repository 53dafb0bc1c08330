"""`remit connect`: a bridge for clients that speak over standard input and output only, to a server behind a sign-in."""

import os
import sys
from functools import partial
from pathlib import Path

import anyio
import click

from mcp_server.cli.browsing import browse
from mcp_server.cli.lazy import loaded
from mcp_server.cli.table import safe
from mcp_server.connect.bridge import bridge, let_in
from mcp_server.connect.kept import checked_key, read_key
from mcp_server.connect.keys import Key
from mcp_server.connect.reaching import Credentials, checked_url
from mcp_server.connect.signing_in import SignIn, Ways
from mcp_server.connect.standard_streams import take_standard_streams
from mcp_server.protocol.sign_in.given import Pass, SignedIn
from mcp_server.settings.places import find_places

KEY = "REMIT_KEY"


@click.command()
@click.argument("url")
@click.option("--sign-in", is_flag=True, help="Only sign in, for later starts.")
@click.option("--sign-out", is_flag=True, help="Only forget the sign-in, and give it back where the issuer takes it.")
@click.option("--key-file", metavar="FILE", type=click.Path(path_type=Path), help=f"A file that holds an API key. {KEY} holds one, too.")
@click.option("--client-id", metavar="ID", help="A client that the operator registered, or the https address of its metadata.")
@click.option(
    "--redirect-port", metavar="PORT", type=click.IntRange(0, 65535), default=0, help="Where the browser comes back to.  [a free one]"
)
@click.option("--no-browser", is_flag=True, help="Only tell the address of the sign-in page.")
def connect(
    url: str, sign_in: bool, sign_out: bool, key_file: Path | None, client_id: str | None, redirect_port: int, no_browser: bool
) -> None:
    """Serve a server that is reached over HTTPS to a client that speaks over standard input and output.

    URL is the server's address, such as https://remit.example.org/mcp. Signs in with your browser where the server asks for it.
    """
    if sign_in and sign_out:
        raise click.UsageError("--sign-in or --sign-out, not both")
    address = checked_url(url)
    ways = Ways(
        passes=_passes, say=_say, browse=_leave_it if no_browser else partial(browse, say=_say), client_id=client_id, port=redirect_port
    )
    person = SignIn(address, find_places(os.environ).state, ways)
    if sign_out:
        _say("signed out" if anyio.run(person.sign_out) else "nobody was signed in")
        return
    key = _key(key_file)
    if sign_in:
        if key is not None:
            raise click.UsageError(f"--sign-in goes without --key-file and {KEY}: a key needs no sign-in")
        anyio.run(let_in, address, person)
        _say(f"you may use {address}")
        return
    credentials: Credentials = person if key is None else Key(key)
    anyio.run(partial(bridge, address, credentials, take_standard_streams(), _say))
    # The thread that reads standard input cannot be interrupted, and leaving orderly would wait for it.
    sys.stderr.flush()
    os._exit(0)


def _key(file: Path | None) -> str | None:
    if file is not None:
        return read_key(file)
    named = os.environ.get(KEY)
    return None if named is None else checked_key(named, KEY)


def _say(text: str) -> None:
    click.echo(safe(f"remit connect: {text}"), err=True)


def _leave_it(_: str) -> None:
    """For those who want to open it themselves."""


def _passes(url: str, held: SignedIn | None, *, client_id: str | None) -> Pass:
    """Loads the SDK: only once somebody signs in or a token must be refreshed."""
    flow = loaded("mcp_server.protocol.sign_in.flow")
    begun: Pass = flow.Flow(url, held, flow.As(client_id=client_id))
    return begun
