"""`remit serve`: what an MCP client starts. Reads the command line, sets up logging, and hands over to the composition root."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import click
import structlog

from mcp_server.cli.channels import require_channel
from mcp_server.cli.lazy import loaded
from mcp_server.cli.logs import LEVELS, log_to
from mcp_server.cli.telling import telling
from mcp_server.cli.terminal import terminal
from mcp_server.errors import ConfigError, Fault
from mcp_server.policy.values import Action, Mode
from mcp_server.serving import Address, serve_to
from mcp_server.settings.load import load_settings
from mcp_server.settings.places import find_places
from mcp_server.settings.values import Flags, Settings
from mcp_server.settings.workspace import check_workspace

log = structlog.get_logger(__name__)

RULE_FLAGS = ("--allow", "--ask", "--deny")


class InOrder(click.Command):
    """Keeps the order of `--allow`, `--ask` and `--deny` among one another: of rules that match, the last one wins."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_one_option(args)))


def _one_option(args: Sequence[str]) -> list[str]:
    """The three flags as one hidden option with two values."""
    written: list[str] = []
    left = list(args)
    while left:
        word = left.pop(0)
        flag, joined, value = word.partition("=")
        if flag not in RULE_FLAGS:
            written.append(word)
            continue
        if not joined:
            if not left:
                raise click.UsageError(f"{flag} needs a value: {flag} 'permission(pattern)'")
            value = left.pop(0)
        written += ["--rule", flag.removeprefix("--"), value]
    return written


def _address(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> Address | None:
    if value is None:
        return None
    host, colon, port = value.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value} is not HOST:PORT, for example 127.0.0.1:7717")
    return Address(host=host, port=int(port))


@click.command(cls=InOrder, short_help="Serve MCP: what a client starts.")
@click.option(
    "--workspace",
    "workspaces",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The folder to work in; the current one where it is left out. Further ones may be read as well; writes there ask.",
)
@click.option("--agent", metavar="NAME", help="The agent that the client's own calls run as.  [build]")
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="What answers where no rule speaks.  [default]")
@click.option("--allow", metavar="RULE", expose_value=False, multiple=True, help="A rule of yours, as 'permission(pattern)'.")
@click.option("--ask", metavar="RULE", expose_value=False, multiple=True, help="Likewise. Of these three the last match on the line wins.")
@click.option("--deny", metavar="RULE", expose_value=False, multiple=True, help="Likewise.")
@click.option("--rule", "rules", nargs=2, multiple=True, hidden=True)
@click.option("--tools", metavar="A,B", help="The only tools to offer; empty: none.  [all]")
@click.option("--model", metavar="NAME", help="The model of agents that name none, as provider:model.")
@click.option(
    "--private-host", "private_hosts", metavar="HOST", multiple=True, help="A private host that webfetch may reach, as name or name:port."
)
@click.option("--http", metavar="HOST:PORT", callback=_address, help="Serve over HTTP on this machine's own address, instead of stdio.")
@click.option(
    "--console",
    "console",
    metavar="PORT",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(0, 65535),
    help="With --http: the console as well. Its link is shown at your terminal.  [a free port]",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What is logged, on standard error.")
def serve(
    workspaces: tuple[Path, ...],
    rules: tuple[tuple[str, str], ...],
    http: Address | None,
    console: int | None,
    log_level: str,
    **values: Any,
) -> None:
    """Serve MCP over standard input and output, or over HTTP on this machine.

    Put `remit serve --workspace /path/to/project` into your client's configuration.
    """
    places = find_places(os.environ)
    workspace, *further = [check_workspace(folder, places) for folder in workspaces or (Path.cwd(),)]
    flags = Flags(rules=(*_readable(further), *((Action[action.upper()], text) for action, text in rules)), **values)
    log_to(sys.stderr, log_level, os.environ)
    settings = None if http is None else load_settings(workspace=workspace, places=places, flags=flags)
    told = telling(os.environ, settings)
    if settings is not None and settings.gateway is not None:
        _take_hangups()
        warn_of_unanswered(settings)
    start = partial(serve_to, http, workspace=workspace, places=places, flags=flags, environment=os.environ, told=told)
    if console is None:
        start()
        return
    if http is None:
        raise click.UsageError("--console goes with --http; beside a server over stdio, run `remit console` in a terminal")
    require_channel("console", places)
    pages = loaded("mcp_server.cli.console")
    with terminal() as person:
        start(beside=pages.beside(person, console))


def _take_hangups() -> None:
    """Until there is something to read anew: by itself the signal would end a gateway that is just being started."""
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, _nothing)


def _nothing(_signal: int, _frame: FrameType | None) -> None: ...


def warn_of_unanswered(settings: Settings) -> None:
    """A line in the log for each ask that nobody can answer: whoever meets it waits for nothing."""
    for finding in loaded("mcp_server.cli.checks.unanswered").unanswered(settings):
        if finding.state == "fault":
            log.warning("an ask that nobody can answer", rule=finding.where, problem=finding.says, remedy=finding.remedy)


def _readable(folders: Sequence[Path]) -> tuple[tuple[Action, str], ...]:
    """Further folders as rules of the person's. They come first, so that a rule on the line may take one back."""
    wild = [folder for folder in folders if "*" in str(folder) or "?" in str(folder)]
    if wild:
        raise ConfigError(
            tuple(
                Fault(file="--workspace", line=None, problem=f"{folder} holds a wildcard", remedy="name it first, or serve it by itself")
                for folder in wild
            )
        )
    return tuple((Action.ALLOW, f"external_directory({text})") for folder in folders for text in (str(folder), f"{folder}/*"))
