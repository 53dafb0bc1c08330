"""`remit sessions`: who works or has worked, as a tree, and what was said."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from mcp_server.cli.shown import age_of, cost_of, find_one, path_of, short, time_of
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe, table
from mcp_server.records import (
    CallEnded,
    CallStarted,
    Compacted,
    ImagePart,
    ModelTurn,
    Part,
    RunRecord,
    SessionRecord,
    StoredEntry,
    TaskGiven,
    TextPart,
    Usage,
)
from mcp_server.store.protocol import Store

MOST = 200
"""Sessions listed where no number is given: the newest of them, with their ancestors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One session and how its latest run stands."""

    session: SessionRecord
    run: RunRecord | None

    @property
    def state(self) -> str:
        """The run's state; a root session has none and is open until it ends."""
        if self.run is not None:
            return self.run.state.value
        return "open" if self.session.ended_at is None else "ended"


@click.group(invoke_without_command=True)
@click.option("--workspace", type=click.Path(file_okay=False, resolve_path=True), help="Only those of this folder.")
@click.option("--limit", default=MOST, show_default=True, type=click.IntRange(min=1), help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def sessions(ctx: click.Context, workspace: str | None, limit: int, as_json: bool) -> None:
    """Sessions and their subagents, newest tree first."""
    if ctx.invoked_subcommand is not None:
        return
    listed = with_store(lambda store: _read(store, workspace, limit))
    if as_json:
        for one in listed:
            click.echo(json.dumps(_as_json(one), ensure_ascii=False))
    elif listed:
        rows = [(f"{lead}{one.session.agent}", *_row(one)) for lead, one in _tree(listed)]
        click.echo(table(("SESSION", "STATE", "AGE", "TOKENS", "ID", "TITLE"), rows))
    else:
        click.echo("no sessions yet")


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def show(session_id: str, as_json: bool) -> None:
    """Show a session's transcript and how its run ended."""

    async def read(store: Store) -> tuple[Listed, tuple[str, ...], tuple[StoredEntry, ...]]:
        everyone = await store.sessions(ME, limit=100_000)
        session = find_one(everyone, session_id, lambda s: s.id, "session", "remit sessions")
        chain = await store.chain(session.id)
        one = Listed(session=session, run=await store.latest_run(session.id))
        return one, tuple(s.agent for s in chain), await store.transcript(session.id)

    one, path, entries = with_store(read)
    if as_json:
        click.echo(json.dumps(_as_json(one), ensure_ascii=False))
        for entry in entries:
            click.echo(json.dumps({"seq": entry.seq, "at": entry.at, "lines": list(_lines(entry))}, ensure_ascii=False))
        return
    click.echo(safe(f"{path_of(path)}  {one.session.id}\n{one.session.title or 'no title'}\n{one.session.workspace}\n"))
    for entry in entries:
        click.echo(safe("\n".join(_lines(entry))))
    click.echo(safe("\n".join(_ending(one))))


async def _read(store: Store, workspace: str | None, limit: int) -> list[Listed]:
    found = await store.sessions(ME, workspace=workspace, limit=limit)
    return [Listed(session=session, run=await store.latest_run(session.id)) for session in found]


def _tree(listed: Sequence[Listed]) -> Iterator[tuple[str, Listed]]:
    """Each with its indent. A child whose parent is not among them stands at the top."""
    known = {one.session.id for one in listed}

    def below(parent: str | None, depth: int) -> Iterator[tuple[str, Listed]]:
        ones = [one for one in listed if (one.session.parent_id if one.session.parent_id in known else None) == parent]
        for one in ones if depth == 0 else reversed(ones):
            yield "  " * depth + ("└ " if depth else ""), one
            yield from below(one.session.id, depth + 1)

    yield from below(None, 0)


def _lines(stored: StoredEntry) -> Iterator[str]:
    at = time_of(stored.at)
    match stored.entry:
        case TaskGiven() as given:
            yield f"{at}  task: {given.text}"
        case ModelTurn() as turn:
            yield f"{at}  {turn.model}: {turn.text}" if turn.text else f"{at}  {turn.model}"
            yield from (f"    calls {call.tool} {json.dumps(dict(call.arguments), ensure_ascii=False)}" for call in turn.calls)
        case CallStarted():
            return
        case CallEnded() as ended:
            yield f"{at}  {ended.tool}: {ended.ending.value}"
            yield from (f"    {line}" for part in ended.parts for line in _part(part))
        case Compacted() as compacted:
            yield f"{at}  {compacted.model} shortened what the model is given of all before; it now reads:"
            yield from (f"    {line}" for line in compacted.summary.split("\n"))


def _part(part: Part) -> list[str]:
    match part:
        case TextPart():
            return part.text.split("\n")
        case ImagePart():
            return [f"an image, {part.media_type}"]


def _ending(one: Listed) -> Iterator[str]:
    yield f"state: {one.state}" + (f", {one.run.reason}" if one.run and one.run.reason else "")
    if one.run is None:
        return
    yield f"used: {_used(one.run.usage)}"
    for call in one.run.outcome.refused if one.run.outcome else ():
        yield f"refused: {path_of(call.session_path)}: {call.tool} {call.summary}: {call.ending.value}: {call.reason}"


def _row(one: Listed) -> tuple[str, ...]:
    session = one.session
    return one.state, age_of(session.created_at), _tokens(one), short(session.id), session.title


def _tokens(one: Listed) -> str:
    usage = one.run.usage if one.run else None
    if usage is None:
        return ""
    cost = f" ({cost_of(usage)})" if usage.cost is not None else ""
    return f"{usage.input_tokens + usage.output_tokens}{cost}"


def _used(usage: Usage) -> str:
    cached = f" ({usage.cached_tokens} from the cache)" if usage.cached_tokens else ""
    told = f"{usage.turns} turns, {usage.tool_calls} calls, {usage.input_tokens} tokens in{cached}, {usage.output_tokens} out"
    return f"{told}, {cost_of(usage)}"


def _as_json(one: Listed) -> dict[str, Any]:
    session = one.session
    return {
        "id": session.id,
        "parent": session.parent_id,
        "root": session.root_id,
        "agent": session.agent,
        "title": session.title,
        "workspace": session.workspace,
        "state": one.state,
        "reason": one.run.reason if one.run else "",
        "usage": asdict(one.run.usage) if one.run else None,
        "created_at": session.created_at,
        "ended_at": session.ended_at,
    }
