"""The audit as a page: filters, the newest events that pass them, those before, and all of them as a file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.frame import turned_away
from mcp_server.gateway.html import Child, Html, el, exact, said
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import AuditEvent
from mcp_server.sessions.exporting import FORMS, Form, exported
from mcp_server.sessions.searching import ACTIONS, HEADS, KINDS, Filter, since, tabulated

NUMBER = re.compile(r"[0-9]{1,18}")

MOST_READ = 10_000
"""Events that one look goes through, from the newest on; a link leads to those before."""

MOST_ROWS = 500
"""Rows on the page."""

AT_ONCE = 1000
"""Events read at once."""

FIELDS = ("tool", "kind", "action", "since", "session")

NO_TIME = "The time is neither a span such as 30m, 2h or 7d nor a date such as 2026-11-29T14:00"
NO_KIND = f"There is no such kind of event; there are {', '.join(KINDS)}"
NO_ACTION = f"There is no such decision; there are {', '.join(ACTIONS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What an address asks for."""

    asked: Mapping[str, str]
    """The fields of the form."""
    wanted: Filter
    session: SessionId | None
    before: int | None
    """Only events with smaller numbers."""

    @property
    def wrong(self) -> str:
        """What of it means nothing."""
        faults = (
            (bool(self.asked["since"]) and self.wanted.since is None, NO_TIME),
            (self.asked["kind"] not in ("", *KINDS), NO_KIND),
            (self.asked["action"] not in ("", *ACTIONS), NO_ACTION),
        )
        return next((words for wrong, words in faults if wrong), "")

    def address(self, page: str, **more: str) -> str:
        """Of another page with the same filters."""
        fields = {name: value for name, value in self.asked.items() if value} | more
        return f"{page}?{urlencode(fields)}" if fields else page


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one look came upon."""

    events: tuple[AuditEvent, ...]
    """Newest first."""
    looked: int
    """Events that were gone through."""
    older: int | None
    """The number of the last one, where others are before it."""


def search_of(query: Mapping[str, str], *, now: float) -> Search:
    """The search that an address asks for."""
    asked = {name: query.get(name, "").strip()[:200] for name in FIELDS}
    earliest = since(asked["since"], now=now) if asked["since"] else None
    before = query.get("before", "")
    return Search(
        asked=asked,
        wanted=Filter(tool=asked["tool"] or None, kind=asked["kind"] or None, action=asked["action"] or None, since=earliest),
        session=SessionId(asked["session"]) if asked["session"] else None,
        before=int(before) if NUMBER.fullmatch(before) else None,
    )


async def audit_page(mine: Belongings, door: str, search: Search) -> list[Child]:
    """The body of the page."""
    found = await _look(mine, search)
    page = f"/{door}/audit"
    return [
        el("h1", None, "Audit"),
        _filters(search.asked),
        el("p", {"class": "note", "role": "status"}, f"{search.wrong}.") if search.wrong else None,
        el("p", {"role": "status"}, _counted(found, search)),
        _rows(found.events),
        el(
            "p",
            {"class": "ways"},
            el("a", {"href": search.address(page)}, "Newest") if search.before is not None else None,
            " ",
            el("a", {"href": search.address(page, before=str(found.older)), "rel": "next"}, "Older") if found.older else None,
        ),
        None if search.wrong else _exports(search, door),
    ]


def download(mine: Belongings, query: Mapping[str, str], *, now: float) -> Response:
    """All that the filters select, however much, as a file. Reading writes nothing, in the audit neither."""
    search = search_of(query, now=now)
    form: Form | None = next((one for one in FORMS if one == query.get("form", "jsonl")), None)
    if form is None or search.wrong:
        return turned_away(search.wrong or "There is no such form of an export: jsonl or ocsf.", 400)

    lines = exported(mine.store, search.wanted, form=form, principals=mine.read, session_id=search.session)
    name = f"remit-audit-{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H-%M-%SZ}{'.ocsf' if form == 'ocsf' else ''}.jsonl"
    named = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse((f"{line}\n" async for line in lines), media_type="application/jsonl", headers=named)


async def _look(mine: Belongings, search: Search) -> Found:
    """From the newest on, until the page is full or enough was gone through."""
    events, looked, before = list[AuditEvent](), 0, search.before
    while looked < MOST_READ:
        page = await mine.audit(session_id=search.session, before=before, limit=AT_ONCE)
        for place, stored in enumerate(reversed(page), start=1):
            looked += 1
            events += [stored.event] if search.wanted(stored.event) else []
            if len(events) == MOST_ROWS:
                last = place == len(page) < AT_ONCE
                return Found(events=tuple(events), looked=looked, older=None if last else stored.seq)
        if len(page) < AT_ONCE:
            return Found(events=tuple(events), looked=looked, older=None)
        before = page[0].seq
    return Found(events=tuple(events), looked=looked, older=before)


def _counted(found: Found, search: Search) -> str:
    count = f"{len(found.events):,} {'event' if len(found.events) == 1 else 'events'}"
    if found.older is None:
        return f"{count}." if search.before is None else f"{count}, the oldest ones."
    return f"{count} of the {'newest' if search.before is None else 'next'} {found.looked:,}; there are older ones."


def _exports(search: Search, door: str) -> Html:
    page = f"/{door}/audit/export"
    return el(
        "p",
        None,
        "All that these filters select, as a file: ",
        el("a", {"href": search.address(page, form="jsonl"), "download": True}, "JSON lines"),
        " · ",
        el("a", {"href": search.address(page, form="ocsf"), "download": True}, "OCSF"),
    )


def _rows(events: Sequence[AuditEvent]) -> Html:
    """Redacted arguments, where the audit holds any, unfold: they may be long."""
    heads, rows = tabulated(events)
    cells = [
        [said(cell) if cell else None for cell in row[: len(HEADS)]] + [_unfolding(cell) for cell in row[len(HEADS) :]] for row in rows
    ]
    return table(heads, cells, of="Events, newest first")


def _unfolding(arguments: str) -> Html | None:
    return el("details", None, el("summary", None, "redacted"), exact(arguments)) if arguments else None


def table(heads: Sequence[str], rows: Sequence[Sequence[Child]], *, of: str) -> Html:
    """Rows under their heads, in a box that scrolls sideways."""
    head = el("tr", None, *(el("th", {"scope": "col"}, name.capitalize()) for name in heads))
    body = (el("tr", None, *(el("td", None, cell) for cell in row)) for row in rows)
    return el(
        "div",
        {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": of},
        el("table", None, el("thead", None, head), el("tbody", None, *body)),
    )


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
