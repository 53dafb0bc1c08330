"""The `remit` command: which commands there are, and where each is written."""

from collections.abc import Callable
from importlib.metadata import version

import click

from mcp_server.cli.lazy import LazyGroup

COMMANDS = {
    "serve": "mcp_server.cli.serve:serve",
    "connect": "mcp_server.cli.connect:connect",
    "agents": "mcp_server.cli.agents:agents",
    "sessions": "mcp_server.cli.sessions:sessions",
    "cancel": "mcp_server.cli.cancel:cancel",
    "logs": "mcp_server.cli.following:logs",
    "approvals": "mcp_server.cli.approvals:approvals",
    "console": "mcp_server.cli.console:console",
    "rulings": "mcp_server.cli.rulings:rulings",
    "upstreams": "mcp_server.cli.upstreams:upstreams",
    "gateway": "mcp_server.cli.gateway:gateway",
    "trust": "mcp_server.cli.trust:trust",
    "audit": "mcp_server.cli.audit:audit",
    "explain": "mcp_server.cli.explain:explain",
    "install": "mcp_server.cli.install:install",
    "doctor": "mcp_server.cli.doctor:doctor",
    "demo": "mcp_server.cli.demo.command:demo",
    "test": "mcp_server.cli.test_files:test_files",
}


def _tell_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"remit {version('remit')}")
        ctx.exit()


@click.command(cls=LazyGroup, name="remit", places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version, help="Tell the version and leave.")
@click.pass_obj
def remit(log: Callable[[], None] | None) -> None:
    """Lend MCP clients governed subagents.

    `remit serve` is what an MCP client starts. The other commands are for the person who owns the machine:
    what the agents may do, what they did, and what they are waiting for.
    """
    if log is not None:
        log()
