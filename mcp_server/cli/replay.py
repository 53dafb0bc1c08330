"""`remit audit replay`: what calls of the past would get under the rules of today. Runs nothing."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import click

from mcp_server.cli.replaying import NotReplayed, Replayed, Stage
from mcp_server.cli.since import Since
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import plain, table
from mcp_server.records import AuditEvent
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wording import path_of, time_of
from mcp_server.store.protocol import Store

PAGE = 1000
HEADS = ("TIME", "WHO", "TOOL", "CALL", "THEN", "NOW", "RULES")


@click.command()
@click.option("--since", type=Since(), help="Only later ones: 30m, 2h, 7d, or a date and time.")
@click.option("--all", "everything", is_flag=True, help="Also calls that would get the same.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def replay(since: float | None, everything: bool, as_json: bool) -> None:
    """Tell which past calls would get another answer from the rules, agents and files as they are now.

    Rulings are left out on both sides: a call that a person allowed counts as one that asked. Only calls whose arguments a transcript
    or the audit holds in full can be replayed; the others are counted, with the reason.
    """
    found, reasons = with_store(lambda store: replayed(store, since or 0.0))
    shown = [one for one in found if everything or one.differs]
    if as_json:
        for one in shown:
            click.echo(json_line(_as_object(one)))
        return
    if shown:
        click.echo(table(HEADS, [_row(one) for one in shown]))
    click.echo(f"{len(found)} calls replayed, {sum(one.differs for one in found)} would get another answer")
    for reason, count in reasons.most_common():
        click.echo(plain(f"{count} not replayed: {reason}"))


async def replayed(store: Store, since: float) -> tuple[list[Replayed], Counter[str]]:
    """Each call that was decided since, once, by its first decision; and why others could not be."""
    stage, found, reasons = Stage(store), list[Replayed](), Counter[str]()
    seen: set[tuple[str, str]] = set()
    async for event in _decisions(store, since):
        if (event.session_id, event.ref) in seen:
            continue
        seen.add((event.session_id, event.ref))
        try:
            found.append(await stage.replay(event))
        except NotReplayed as error:
            reasons[str(error)] += 1
    return found, reasons


async def _decisions(store: Store, since: float) -> AsyncIterator[AuditEvent]:
    after = 0
    while events := await store.audit_page(principal=ME, after=after, limit=PAGE):
        for stored in events:
            if stored.event.kind == "decision" and stored.event.at >= since:
                yield stored.event
        after = events[-1].seq


def _row(one: Replayed) -> tuple[str, ...]:
    event = one.event
    return (
        time_of(event.at),
        path_of(event.session_path),
        event.tool,
        event.ref,
        one.then.word,
        f"{one.now.word} ({one.step.value})",
        "; ".join(one.rules),
    )


def _as_object(one: Replayed) -> dict[str, Any]:
    return {
        "at": one.event.at,
        "session": one.event.session_id,
        "path": list(one.event.session_path),
        "tool": one.event.tool,
        "call": one.event.ref,
        "then": one.then.word,
        "now": one.now.word,
        "step": one.step.value,
        "rules": list(one.rules),
    }
