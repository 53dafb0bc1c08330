"""`remit upstreams SERVER --sign-in` and `--sign-out`: the sign-in of this machine's user to another MCP server."""

import os

import anyio
import click

from mcp_server.cli.browsing import browse
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe
from mcp_server.connect.loopback import door
from mcp_server.connect.signing_in import SIGN_IN_SECONDS
from mcp_server.errors import RemitError
from mcp_server.protocol.sign_in.given import NotGiven
from mcp_server.protocol.upstream.keeping import own_credentials
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.settings.places import find_places
from mcp_server.settings.values import Settings
from mcp_server.store.protocol import Store


class NotSignedIn(RemitError):
    """The sign-in came to nothing."""


def sign_in(settings: Settings, server: str) -> None:
    """Have the person sign in.

    Raises:
        NotSignedIn: They did not, or nobody does there.
    """

    async def work(store: Store) -> None:
        try:
            personal, holder = _signs(settings, store).theirs(ME, server)
            with anyio.fail_after(SIGN_IN_SECONDS):
                async with door(0) as opened:
                    await personal.sign_in(holder, opened, _show)
        except TimeoutError:
            raise NotSignedIn(f"nobody signed in within {SIGN_IN_SECONDS / 60:.0f} minutes; run it again") from None
        except NotGiven as error:
            raise NotSignedIn(f"the sign-in failed: {error}") from None

    with_store(work)
    click.echo(f"you are signed in to {server}")


def sign_out(settings: Settings, server: str) -> None:
    """Forget the sign-in, and give it back where the issuer takes it.

    Raises:
        NotSignedIn: Nobody signs in there.
    """

    async def work(store: Store) -> bool:
        try:
            return await _signs(settings, store).leave(ME, server)
        except NotGiven as error:
            raise NotSignedIn(str(error)) from None

    click.echo(f"you are signed out of {server}" if with_store(work) else f"nobody was signed in to {server}")


def _signs(settings: Settings, store: Store) -> SignIns:
    return own_credentials(settings, store, find_places(os.environ).state, os.environ).signs


async def _show(address: str) -> None:
    click.echo(safe(f"to sign in, open this page: {address}"), err=True)
    browse(address, click.echo)
