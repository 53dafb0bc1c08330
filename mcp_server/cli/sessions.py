"""`remit sessions`: who works or has worked, as a tree that keeps itself up to date, and what was said."""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

import click

from mcp_server.cli.forest import as_object, lines_of, objects_of
from mcp_server.cli.live import beats, draws_here, screen
from mcp_server.cli.pruning import prune_sessions
from mcp_server.cli.shown import find_one
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.story import objects, told
from mcp_server.cli.table import safe
from mcp_server.sessions.forest import ALL_OF_THEM, Forest, read_forest
from mcp_server.sessions.story import Story, story_of
from mcp_server.sessions.visible import json_line
from mcp_server.store.protocol import Store

MOST = 200
"""Finished sessions that `--all` shows where no number is given: the newest of them, with their ancestors."""

Read = Callable[[Store], Awaitable[Forest]]

FOOT = "Ctrl-C leaves; --once prints it once, --all shows finished ones too, `remit cancel ID` ends one and all below it"


@click.group(invoke_without_command=True, short_help="What goes on now, as a tree, and what it waits for.")
@click.option("--all", "finished", is_flag=True, help="Finished ones too.")
@click.option("--watch/--once", "watch", default=None, help="Keep it up to date, or print it once.  [watch on a terminal, else once]")
@click.option("--workspace", type=click.Path(file_okay=False, resolve_path=True), help="Only those of this folder.")
@click.option("--limit", default=MOST, show_default=True, type=click.IntRange(min=1), help="With --all: how many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line; with --watch one for each change.")
@click.pass_context
def sessions(ctx: click.Context, finished: bool, watch: bool | None, workspace: str | None, limit: int, as_json: bool) -> None:
    """Sessions and their subagents as a tree, newest first: what goes on now, and what it waits for."""
    if ctx.invoked_subcommand is not None:
        return
    read = partial(read_forest, principals=[ME], workspace=workspace, limit=limit, finished=finished)
    draws = draws_here() and not as_json
    if not (draws if watch is None else watch):
        forest = with_store(read)
        for line in map(json_line, objects_of(forest)) if as_json else lines_of(forest, time.time()):
            click.echo(line)
        return
    with suppress(KeyboardInterrupt):
        if as_json:
            with_store(partial(_tell_changes, read))
        else:
            with_store(partial(_draw if draws else _print_again, read))


async def _draw(read: Read, store: Store) -> None:
    forest: Forest | None = None
    with screen(sys.stdout) as drawn:
        async with aclosing(beats(store)) as moments:
            async for changed in moments:
                forest = await read(store) if changed or forest is None else forest
                drawn.draw(lines_of(forest, time.time()), FOOT)


async def _print_again(read: Read, store: Store) -> None:
    """The whole tree anew with each change of it, an empty line between."""
    last: object = None
    async with aclosing(beats(store)) as moments:
        async for changed in moments:
            if changed and (shown := objects_of(forest := await read(store))) != last:
                click.echo("\n".join((*([] if last is None else [""]), *lines_of(forest, time.time()))))
                last = shown


async def _tell_changes(read: Read, store: Store) -> None:
    told_last: dict[str, Mapping[str, Any]] = {}
    async with aclosing(beats(store)) as moments:
        async for changed in moments:
            for one in objects_of(await read(store)) if changed else ():
                if told_last.get(one["id"]) != one:
                    click.echo(json_line(one))
                    told_last[one["id"]] = one


sessions.add_command(prune_sessions)


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: the session, then each entry of its transcript.")
def show(session_id: str, as_json: bool) -> None:
    """Show a session's transcript, how each call was decided and by whom, and how its run ended."""

    async def read(store: Store) -> Story:
        everyone = await store.sessions(ME, limit=ALL_OF_THEM)
        session = find_one(everyone, session_id, lambda s: s.id, "session", "remit sessions --all")
        return await story_of(store, session)

    story = with_store(read)
    if as_json:
        for one in (as_object(story.listed), *objects(story)):
            click.echo(json_line(one))
        return
    for line in told(story):
        click.echo(safe(line))
