"""One other MCP server on a page: how it was found last, and what came of each of its tools."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from mcp_server.gateway.audit import table
from mcp_server.gateway.cards import moment
from mcp_server.gateway.html import Child, Html, el, join, said
from mcp_server.protocol.upstream.notes import Noted
from mcp_server.protocol.upstream.seen import Seen, average_of
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.shelves import Shelf

MOST = 100
"""Rows of resources, templates or prompts on the page, of each server. `remit upstreams SERVER` has all."""

HEADS = ("tool", "pin", "calls", "failed", "average", "slowest")


def card(one: Seen, signing: Child) -> Html:
    """`signing`: how somebody signs in to it, where they do."""
    title, noted = f"server-{one.name}", one.noted
    failed = join("Last failure ", moment(noted.failed_at, "age"), ": ", said(noted.failure)) if noted.failure and noted.failed_at else None
    return el(
        "article",
        {"class": "card", "aria-labelledby": title},
        el("h2", {"id": title}, said(one.name)),
        el("p", {"class": "when"}, said(f"{_place(one.config)}: {one.state}"), _met(noted)),
        el("p", {"class": "note"}, failed) if failed else None,
        el("ul", None, *(el("li", None, said(line)) for line in one.left_out)) if one.left_out else None,
        signing,
        table(HEADS, [_row(one, own) for own in one.tools], of=f"Tools of {one.name}") if one.tools else None,
        *(_beside(one.name, one.shelf) if one.shelf is not None else ()),
    )


def _beside(server: str, shelf: Shelf) -> Iterable[Child]:
    """What it offers beside tools, a table of each kind."""
    kinds = {
        "resource": [(one.uri, one.media_type, one.title) for one in shelf.resources],
        "template": [(one.template, one.media_type, one.title) for one in shelf.templates],
        "prompt": [(one.name, ", ".join(blank.name for blank in one.blanks), one.title) for one in shelf.prompts],
    }
    for kind, rows in kinds.items():
        heads = (kind, "arguments" if kind == "prompt" else "type", "title")
        if rows:
            yield table(heads, [tuple(map(said, row)) for row in rows[:MOST]], of=f"{kind.capitalize()}s of {server}")
        if len(rows) > MOST:
            yield el("p", {"class": "when"}, f"and {len(rows) - MOST} more")


def _place(config: Upstream) -> str:
    """Where it is, without what an address or a command line may hold of secrets."""
    return f"at {urlsplit(config.url).hostname}" if config.url is not None else f"runs {Path(config.command or '').name}"


def _met(noted: Noted) -> Child:
    if noted.connected_at is None:
        return None
    return join(" · protocol ", noted.era, " · connected ", moment(noted.connected_at, "age"), f" in {noted.handshake:.2f} s")


def _row(one: Seen, own: str) -> tuple[Child, ...]:
    use = one.use_of(own)
    slowest = f"{use.slowest:.3f} s" if use.calls else ""
    return (said(one.tools[own].tool.name), one.pin_of(own), str(use.calls), str(use.failed), average_of(use), slowest)
