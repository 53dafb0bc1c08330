"""`remit upstreams`: the other MCP servers, how each was found last, and what is pinned of them. Connects to none."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from mcp_server.cli.here import here, workspace_option
from mcp_server.cli.server_sign_in import sign_in, sign_out
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe, table
from mcp_server.protocol.upstream.notes import Use
from mcp_server.protocol.upstream.seen import Seen, average_of, seen
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wording import span_of
from mcp_server.store.protocol import Store
from mcp_server.tools.shelves import ForeignPrompt, Shelf

HEADS = ("SERVER", "HOW", "STATE", "PROTOCOL", "TOOLS", "RESOURCES", "PROMPTS", "CALLS", "FAILED", "AVERAGE")
UNKNOWN = "-"
"""Nobody has asked yet. Templates count as resources."""


@click.command(short_help="Other MCP servers: how each was found last.")
@workspace_option
@click.argument("server", required=False)
@click.option("--sign-in", "deed", flag_value="sign-in", help="Sign in to SERVER, where its settings have `oauth`.")
@click.option("--sign-out", "deed", flag_value="sign-out", help="Forget that sign-in, and give it back where the issuer takes it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def upstreams(server: str | None, workspace: Path, deed: str | None, as_json: bool) -> None:
    """The other MCP servers of your settings, as they were found last; with SERVER, its tools, which of them are pinned, its
    resources and prompts.

    Nothing is started or connected to: `remit serve` does that when a tool is wanted.
    """
    whole = here(workspace).settings
    settings = whole.upstreams
    if server is not None and server not in settings:
        raise click.UsageError(f"no server is called {server}; there are: {', '.join(settings) or 'none'}")
    if deed is not None:
        if server is None:
            raise click.UsageError(f"--{deed} needs the server's name")
        (sign_in if deed == "sign-in" else sign_out)(whole, server)
        return

    async def read(store: Store) -> Sequence[Seen]:
        return [await seen(store, [ME], name, config) for name, config in settings.items() if server in (None, name)]

    _tell(with_store(read), server, as_json=as_json)


def _tell(found: Sequence[Seen], server: str | None, *, as_json: bool) -> None:
    if as_json:
        for one in found:
            click.echo(json_line(_as_object(one)))
    elif server is not None:
        _tell_tools(found[0])
        _tell_shelf(found[0].shelf)
        _tell_failures(found)
    elif found:
        click.echo(table(HEADS, [_row(one) for one in found]))
        _tell_failures(found)
    else:
        click.echo("no other MCP servers are set; `mcpServers` in your settings names them")


def _row(one: Seen) -> tuple[str, ...]:
    used, how = one.used, _without_query(one.config.url) or one.config.command or ""
    beside = (UNKNOWN, UNKNOWN)
    if one.shelf is not None:
        beside = (str(len(one.shelf.resources) + len(one.shelf.templates)), str(len(one.shelf.prompts)))
    calls = (str(used.calls), str(used.failed), average_of(used))
    return (one.name, how, one.state, one.noted.era, str(len(one.noted.tools)), *beside, *calls)


def _without_query(url: str | None) -> str | None:
    """An address without what it may hold of secrets."""
    return None if url is None else urlsplit(url)._replace(query="").geturl()


def _tell_failures(found: Sequence[Seen]) -> None:
    for one in found:
        if one.noted.failure and one.noted.failed_at is not None:
            ago = span_of(max(0.0, time.time() - one.noted.failed_at))
            click.echo(safe(f"{one.name}: {one.noted.failure} ({ago} ago)"))
        for line in one.left_out:
            click.echo(safe(f"{one.name}: {line}"))


def _tell_tools(one: Seen) -> None:
    rows = [
        (definition.tool.name, one.pin_of(own), *_used(one.use_of(own)), definition.tool.title) for own, definition in one.tools.items()
    ]
    click.echo(table(("TOOL", "PIN", "CALLS", "FAILED", "AVERAGE", "TITLE"), rows) if rows else "its tools are not known yet")


def _tell_shelf(shelf: Shelf | None) -> None:
    if shelf is None:
        click.echo("its resources and prompts are not known yet")
        return
    resources = [(one.uri, one.media_type, one.title) for one in shelf.resources]
    templates = [(one.template, one.media_type, one.title) for one in shelf.templates]
    prompts = [(one.name, _blanks(one), one.title) for one in shelf.prompts]
    for heads, rows in (
        (("RESOURCE", "TYPE", "TITLE"), resources),
        (("TEMPLATE", "TYPE", "TITLE"), templates),
        (("PROMPT", "ARGUMENTS", "TITLE"), prompts),
    ):
        if rows:
            click.echo(f"\n{table(heads, rows)}")


def _blanks(prompt: ForeignPrompt) -> str:
    return ", ".join(blank.name if blank.required else f"[{blank.name}]" for blank in prompt.blanks)


def _used(use: Use) -> tuple[str, str, str]:
    return str(use.calls), str(use.failed), average_of(use)


def _as_object(one: Seen) -> dict[str, Any]:
    return {
        "server": one.name,
        "command": one.config.command,
        "url": _without_query(one.config.url),
        "shareable": one.config.shareable,
        "state": one.state,
        "protocol": one.noted.era,
        "failure": one.noted.failure,
        "failed_at": one.noted.failed_at,
        "connected_at": one.noted.connected_at,
        "handshake_seconds": one.noted.handshake,
        "left_out": one.left_out,
        "tools": [
            {"name": definition.tool.name, "pin": one.pin_of(own), **(one.noted.use[own].model_dump() if own in one.noted.use else {})}
            for own, definition in one.tools.items()
        ],
        **_shelf_as_object(one.shelf),
    }


def _shelf_as_object(shelf: Shelf | None) -> dict[str, Any]:
    """Null where nobody has asked yet."""
    if shelf is None:
        return {"resources": None, "templates": None, "prompts": None}
    return {
        "resources": [{"uri": one.uri, "type": one.media_type, "title": one.title} for one in shelf.resources],
        "templates": [{"template": one.template, "type": one.media_type, "title": one.title} for one in shelf.templates],
        "prompts": [
            {"name": one.name, "title": one.title, "arguments": [{"name": each.name, "required": each.required} for each in one.blanks]}
            for one in shelf.prompts
        ],
    }
