"""The audit as a page: filters, and the newest events that pass them."""

from collections.abc import Mapping, Sequence

from mcp_server.gateway.html import Child, Html, el, said
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.searching import ACTIONS, HEADS, KINDS, Filter, row, since
from mcp_server.store.protocol import Store

MOST_READ = 10_000
"""Events that one search looks at, the newest first."""

MOST_ROWS = 500
"""Rows on the page. What is beyond wants a narrower filter, or `remit audit`."""


async def audit_page(store: Store, principal: str, query: Mapping[str, str], *, now: float) -> list[Child]:
    """The body of the page. `query`: what the address asks for; what it does not know filters nothing."""
    asked = {name: query.get(name, "").strip()[:200] for name in ("tool", "kind", "action", "since", "session")}
    earliest = since(asked["since"], now=now) if asked["since"] else None
    wanted = Filter(tool=asked["tool"] or None, kind=asked["kind"] or None, action=asked["action"] or None, since=earliest)
    session = SessionId(asked["session"]) if asked["session"] else None
    log = await store.audit_log(principal=principal, session_id=session, limit=MOST_READ)
    found = [stored.event for stored in reversed(log) if wanted(stored.event)]
    wrong = "The time is neither a span such as 30m, 2h or 7d nor a date such as 2026-11-29T14:00; it filters nothing."
    return [
        el("h1", None, "Audit"),
        _filters(asked),
        el("p", {"class": "note", "role": "status"}, wrong) if asked["since"] and earliest is None else None,
        el("p", {"role": "status"}, _counted(len(found))),
        table(HEADS, [[said(cell) if cell else None for cell in row(event)] for event in found[:MOST_ROWS]], of="Events, newest first"),
    ]


def table(heads: Sequence[str], rows: Sequence[Sequence[Child]], *, of: str) -> Html:
    """Rows under their heads, in a box that scrolls sideways."""
    head = el("tr", None, *(el("th", {"scope": "col"}, name.capitalize()) for name in heads))
    body = (el("tr", None, *(el("td", None, cell) for cell in row)) for row in rows)
    return el(
        "div",
        {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": of},
        el("table", None, el("thead", None, head), el("tbody", None, *body)),
    )


def _counted(count: int) -> str:
    if count > MOST_ROWS:
        return f"{count:,} events; the newest {MOST_ROWS} are shown."
    return f"{count:,} {'event' if count == 1 else 'events'}."


def _filters(asked: Mapping[str, str]) -> Html:
    return el(
        "form",
        {"method": "get", "class": "filters", "role": "search", "aria-label": "Filters"},
        _choice("kind", "Kind", KINDS, asked),
        _choice("action", "Decision", ACTIONS, asked),
        _line("tool", "Tool", asked),
        _line("since", "Since (2h, 7d, a date)", asked),
        _line("session", "Session", asked),
        el("button", {"type": "submit"}, "Show"),
    )


def _choice(name: str, title: str, values: Sequence[str], asked: Mapping[str, str]) -> Html:
    options = (el("option", {"value": value, "selected": value == asked[name]}, value or "any") for value in ("", *values))
    return el("p", None, el("label", {"for": f"filter-{name}"}, title), el("select", {"id": f"filter-{name}", "name": name}, *options))


def _line(name: str, title: str, asked: Mapping[str, str]) -> Html:
    identity = f"filter-{name}"
    field = {"id": identity, "name": name, "type": "search", "value": asked[name], "autocomplete": "off"}
    return el("p", None, el("label", {"for": identity}, title), el("input", field))
