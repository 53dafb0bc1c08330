"""`remit logs`: what happens at every doorway, a line each, as it happens. The same events as `remit audit`, made to be followed."""

from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any

import click

from mcp_server.cli.live import beats
from mcp_server.cli.shown import find_one
from mcp_server.cli.since import Since
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import plain
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.exporting import as_object
from mcp_server.sessions.forest import ALL_OF_THEM
from mcp_server.sessions.searching import KINDS, Filter
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wording import path_of, short, time_of
from mcp_server.store.protocol import Store, StoredAudit

NEWEST = 50
"""Lines told of the past where no number is given: a screen or two."""

STRIDE = 500
"""Events asked for at once while following. Where more came at a time, twice as many are asked for, and so on."""


@click.command(short_help="Tell what happens, a line each.")
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens from now on, until Ctrl-C.")
@click.option("--limit", "-n", default=NEWEST, show_default=True, type=click.IntRange(min=0), help="How many lines of the past.")
@click.option("--tool", help="Only this tool.")
@click.option("--kind", type=click.Choice(KINDS), help="Only this kind of event.")
@click.option("--action", type=click.Choice(["allow", "ask", "deny"]), help="Only decisions that came to this.")
@click.option("--since", type=Since(), help="Only later ones: 30m, 2h, 7d, or a date and time.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def logs(session_id: str | None, follow: bool, limit: int, as_json: bool, **filters: Any) -> None:
    """Tell what happens, a line each; with ID only in that session and below it.

    Arguments are not told: `remit sessions show ID` has them.
    """
    wanted = Filter(**filters)

    def tell(events: Sequence[StoredAudit]) -> None:
        for stored in events:
            click.echo(json_line(as_object(stored)) if as_json else line_of(stored))

    async def telling(store: Store) -> None:
        reading = Reading(store, await _top(store, session_id), wanted)
        tell(await reading.past(limit))
        if follow:
            async with aclosing(beats(store)) as moments:
                async for changed in moments:
                    tell(await reading.fresh() if changed else ())

    with suppress(KeyboardInterrupt):
        with_store(telling)


def line_of(stored: StoredAudit) -> str:
    """One event in one line: when, which session, who, what."""
    event = stored.event
    verdict = f"{event.action.word} ({event.step.value})" if event.action is not None and event.step is not None else ""
    rules = f"by {'; '.join(event.rules)}" if event.rules else ""
    ruled = f"ruled by {event.ruled_by}" if event.ruled_by else ""
    said = (event.kind, event.tool, verdict, rules, ruled, event.outcome)
    return plain(
        f"{time_of(event.at)}  {short(event.session_id)}  {path_of(event.session_path)}: {' '.join(part for part in said if part)}"
    )


async def _top(store: Store, typed: str | None) -> SessionId | None:
    if typed is None:
        return None
    return find_one(await store.sessions(ME, limit=ALL_OF_THEM), typed, lambda s: s.id, "session", "remit sessions --all").id


class Reading:
    """The audit of one tree or of all, from one place on."""

    def __init__(self, store: Store, top: SessionId | None, wanted: Filter) -> None:
        self._store = store
        self._top = top
        self._wanted: Callable[[StoredAudit], bool] = lambda stored: wanted(stored.event)
        self._last = 0
        self._inside: dict[SessionId, bool] = {}
        """Does it belong to the tree? As it was when it was first met."""

    async def past(self, limit: int) -> list[StoredAudit]:
        """The newest `limit` of what is wanted."""
        count = max(limit, STRIDE)
        while True:
            events = await self._store.audit_log(principal=ME, limit=count)
            kept = await self._kept(events)
            if len(kept) >= limit or len(events) < count:
                return kept[max(0, len(kept) - limit) :]
            count *= 2

    async def fresh(self) -> list[StoredAudit]:
        """What has come since."""
        count = STRIDE
        while True:
            events = await self._store.audit_log(principal=ME, limit=count)
            if len(events) < count or events[0].seq <= self._last:
                return await self._kept([stored for stored in events if stored.seq > self._last])
            count *= 2

    async def _kept(self, events: Sequence[StoredAudit]) -> list[StoredAudit]:
        if events:
            self._last = events[-1].seq
        return [stored for stored in events if self._wanted(stored) and await self._belongs(stored.event.session_id)]

    async def _belongs(self, session_id: SessionId) -> bool:
        if self._top is None:
            return True
        if session_id not in self._inside:
            self._inside[session_id] = self._top in {one.id for one in await self._store.chain(session_id)}
        return self._inside[session_id]
