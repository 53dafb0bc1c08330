"""One other MCP server on a page: how it was found last, and what came of each of its tools."""

from pathlib import Path
from urllib.parse import urlsplit

from mcp_server.gateway.audit import table
from mcp_server.gateway.cards import moment
from mcp_server.gateway.html import Child, Html, el, join, said
from mcp_server.protocol.upstream.notes import Noted
from mcp_server.protocol.upstream.seen import Seen, average_of
from mcp_server.settings.upstream import Upstream

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
        el("ul", None, *(el("li", None, said(line)) for line in noted.left_out)) if noted.left_out else None,
        signing,
        table(HEADS, [_row(one, own) for own in one.tools], of=f"Tools of {one.name}") if one.tools else None,
    )


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
