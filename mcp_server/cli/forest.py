"""Sessions as trees, in the lines of a terminal and as objects for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mcp_server.cli.table import table
from mcp_server.records import FINAL
from mcp_server.sessions.forest import Forest, Listed, began, ended
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import cost_of, elapsed_of, short
from mcp_server.store.spent import Spent

HEADS = ("SESSION", "STATE", "ELAPSED", "TOKENS", "ID", "ABOUT")


def lines_of(forest: Forest, now: float) -> list[str]:
    """The forest as a table, and below it what is folded away."""
    rows: list[tuple[str, ...]] = []
    for depth, one in forest.tree():
        lead = "  " * depth + ("└ " if depth else "")
        if isinstance(one, Listed):
            rows.append((f"{lead}{one.session.agent}", *_cells(one, now)))
        else:
            rows.append((f"{lead}{one} finished", "", "", "", "", ""))
    apart = forest.folded.get(None, 0)
    more = f"{apart} finished session{'s' if apart != 1 else ''} not shown; --all shows them" if apart else ""
    if not rows:
        return [f"nothing is going on; {more}" if more else "no sessions yet"]
    return [*table(HEADS, rows).split("\n"), *(["", more] if more else [])]


def _cells(one: Listed, now: float) -> tuple[str, ...]:
    return one.state, elapsed_of(ended(one, now) - began(one)), _tokens(one), short(one.session.id), about(one)


def _tokens(one: Listed) -> str:
    if one.run is None:
        spent = one.spent or Spent()
        return f"{spent.tokens}{f' (${spent.cost:.4f})' if spent.cost else ''}" if spent.tokens else ""
    usage = one.run.usage
    tokens = usage.input_tokens + usage.output_tokens
    cost = f" ({cost_of(usage)})" if usage.cost is not None else ""
    return f"{tokens}{cost}" if tokens else ""


def about(one: Listed) -> str:
    """What it waits for; else why it is as it is, and what it was given to do."""
    if one.prompts:
        return "; ".join(f"asks you: {wanted(prompt)} (remit approvals approve {short(prompt.id)})" for prompt in one.prompts)
    reason = one.run.reason if one.run is not None and one.run.state not in FINAL else ""
    return ", ".join(part for part in (reason, one.session.title) if part)


def as_object(one: Listed, folded: int = 0) -> Mapping[str, Any]:
    """One session for programs. It changes only when the session does: no elapsed time."""
    session, run = one.session, one.run
    return {
        "id": session.id,
        "parent": session.parent_id,
        "root": session.root_id,
        "agent": session.agent,
        "title": session.title,
        "workspace": session.workspace,
        "state": run.state.value if run is not None else one.state,
        "reason": run.reason if run else "",
        "cancel_requested": run.cancel_requested if run else None,
        "background": run.background if run else False,
        "usage": asdict(run.usage) if run else None,
        "tree_spent": asdict(one.spent) if one.spent else None,
        "asks": [{"prompt": prompt.id, "wants": wanted(prompt)} for prompt in one.prompts],
        "folded": folded,
        "created_at": session.created_at,
        "run_started_at": run.created_at if run else None,
        "run_changed_at": run.updated_at if run else None,
        "ended_at": session.ended_at,
    }


def objects_of(forest: Forest) -> Sequence[Mapping[str, Any]]:
    """Every shown session, in the order of the tree."""
    return [as_object(one, forest.folded.get(one.session.id, 0)) for _, one in forest.tree() if isinstance(one, Listed)]
