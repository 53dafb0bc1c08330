"""`remit cancel`: end a session's run and everything below it, whether or not a server runs now.

It needs no proof of a person: it only takes authority away.
"""

import time
from collections.abc import Sequence

import anyio
import click

from mcp_server.cli.shown import find_one
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe
from mcp_server.records import FINAL, RunRecord
from mcp_server.sessions.ending import end_runs
from mcp_server.sessions.forest import ALL_OF_THEM
from mcp_server.sessions.wording import path_of, short
from mcp_server.store.protocol import Store

BY = "the person, with `remit cancel`"

WAIT = 2.0
"""Seconds to see the tree ended. A server that runs ends it in under one; without one it ends when the next is started."""

LOOK = 0.1


@click.command()
@click.argument("session_id", metavar="ID")
def cancel(session_id: str) -> None:
    """End a session's work and all below it, at once and for good. What it has found so far is kept.

    ID is one of `remit sessions`; that of a root ends everything below it.
    """

    async def ended(store: Store) -> tuple[str, Sequence[RunRecord], Sequence[RunRecord]]:
        session = find_one(await store.sessions(ME, limit=ALL_OF_THEM), session_id, lambda s: s.id, "session", "remit sessions")
        chain = await store.chain(session.id)
        asked = await end_runs(store, session.id, BY, at=time.time())
        return f"{path_of([one.agent for one in chain])} {short(session.id)}", asked, await _left(store, asked)

    name, asked, left = with_store(ended)
    if not asked:
        click.echo(safe(f"{name}: nothing to end, neither it nor anything below it goes on"))
        return
    click.echo(safe(f"{name}: {_runs(asked)} asked to end, {len(asked) - len(left)} ended so far"))
    for workspace in sorted({run.workspace for run in left}):
        click.echo(safe(f"no server has ended the rest yet; they end as soon as one runs for {workspace}"))


async def _left(store: Store, asked: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """Those that have not ended within `WAIT`."""
    left = tuple(asked)
    with anyio.move_on_after(WAIT):
        while left:
            runs = [await store.run(run.id) for run in left]
            left = tuple(run for run in runs if run is not None and run.state not in FINAL)
            if left:
                await anyio.sleep(LOOK)
    return left


def _runs(runs: Sequence[RunRecord]) -> str:
    return f"{len(runs)} run{'s' if len(runs) != 1 else ''}"
