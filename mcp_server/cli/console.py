"""`remit console`: the inbox in a browser on this machine, opened by a link that only the person's terminal shows."""

import os
import socket
import sys
from collections.abc import Callable, Coroutine
from functools import partial

import anyio
import click

from mcp_server.cli.channels import require_channel
from mcp_server.cli.explaining import Files
from mcp_server.cli.here import servers_here
from mcp_server.cli.logs import log_to
from mcp_server.cli.state import with_store
from mcp_server.cli.terminal import Terminal, terminal
from mcp_server.gateway.agents import AgentsPage
from mcp_server.gateway.console import HOST, Console
from mcp_server.gateway.serving import listen, serve_console
from mcp_server.settings.places import find_places
from mcp_server.store.console_address import console_open
from mcp_server.store.protocol import Store


@click.command()
@click.option("--port", default=0, type=click.IntRange(0, 65535), metavar="PORT", help="The port on loopback.  [a free one]")
def console(port: int) -> None:
    """Answer what agents ask in a browser. Needs your terminal: the link that opens it is shown there, and works once."""
    require_channel("console")
    log_to(sys.stderr, "error", os.environ)
    with terminal() as person:
        with_store(partial(_serve, person, listen(port), os.path.expanduser("~"), ends="the console", alone=True))


def beside(person: Terminal, port: int) -> Callable[[Store], Coroutine[None, None, None]]:
    """A console next to a server that runs, on its store; its end is the server's.

    Raises:
        ConfigError: The port is taken.
    """
    return partial(_serve, person, listen(port), os.path.expanduser("~"), ends="the server", alone=False)


async def _serve(person: Terminal, sock: socket.socket, home: str, store: Store, *, ends: str, alone: bool) -> None:
    taken = int(sock.getsockname()[1])
    opened = Console(store=store, home=home, rules=AgentsPage(explains=Files(), workspace=os.getcwd()), servers=servers_here)
    person.say(f"The console is on this machine alone. Open this link in your browser:\n\n  {opened.link(taken)}\n")
    person.say(f"It works once, within 10 minutes. Enter shows another link, Ctrl-C ends {ends}.")
    with console_open(find_places(os.environ).state, f"http://{HOST}:{taken}"):
        async with anyio.create_task_group() as group:
            group.start_soon(_give_links, person, opened, taken)
            await serve_console(opened, sock, alone=alone)
            group.cancel_scope.cancel()


async def _give_links(person: Terminal, opened: Console, port: int) -> None:
    async for _ in person.presses():
        person.say(f"\n  {opened.link(port)}\n")
