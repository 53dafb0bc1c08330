"""HTML whose text cannot become markup: what is not `Html` already is escaped, and nothing else makes `Html`."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcp_server.sessions.visible import pieces, visible

MOST_SHOWN = 200_000
"""Characters of one text on a page. The longest arguments that tools take in practice fit; a browser stays quick."""

MOST_MARKS = 300
"""Marked escapes in one text. Where there are more, a line is marked as a whole: thousands of small marks make a browser slow."""

MOST_LINES = 5000
"""Lines of one text that are coloured and marked one by one. Those behind them are shown as one stretch, for the same reason."""

VOID = frozenset({"input", "link", "meta", "br", "hr"})


@dataclass(frozen=True, slots=True)
class Html:
    """Markup that this module made."""

    text: str


Child = Html | str | None
Attributes = Mapping[str, str | bool]


def el(name: str, attributes: Attributes | None = None, *children: Child | Iterable[Child]) -> Html:
    """One element. A string among the children is text; None is left out. Attributes: True stands alone, False is left out."""
    written = "".join(_attribute(key, value) for key, value in (attributes or {}).items())
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(*children).text}</{name}>")


def join(*children: Child | Iterable[Child]) -> Html:
    """Several things as one."""
    return Html("".join(_text(child) for child in children))


def _text(child: Child | Iterable[Child]) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child.text
    if isinstance(child, str):
        return html.escape(child, quote=False)
    return "".join(_text(one) for one in child)


def _attribute(key: str, value: str | bool) -> str:
    if isinstance(value, bool):
        return f" {key}" if value else ""
    return f' {key}="{html.escape(value)}"'


def said(text: str) -> Html:
    """Words that a model or a file chose, on one line: what hides, moves or breaks lines is a marked escape."""
    return el("bdi", {"class": "said"}, _pieces(_cut(text)))


def exact(text: str) -> Html:
    """The same for values whose every character counts: shown from left to right whatever they hold."""
    return el("code", {"class": "exact", "dir": "ltr"}, _pieces(_cut(text)))


def lined(text: str, *, of: str, diff: bool = False, most: int = MOST_SHOWN) -> Html:
    """A text with its lines, in a box of its own that scrolls.

    Args:
        text: Anything.
        of: What it is, for those who cannot see the box.
        diff: Colour added and removed lines.
        most: Characters that are shown.
    """
    lines = _cut(text, most).split("\n")
    singly = lines[:MOST_LINES]
    dense = sum(escaped for line in singly for _, escaped in pieces(line)) > MOST_MARKS
    shown = (el("span", {"class": _kind(line) if diff else "line"}, _tabbed(line, dense=dense), "\n") for line in singly)
    box = {"class": "box exact", "dir": "ltr", "tabindex": "0", "role": "region", "aria-label": of}
    return join(el("pre", box, *shown, _stretch(lines[MOST_LINES:])), _size(text, len(lines), most))


def _size(text: str, lines: int, most: int) -> Html | None:
    if len(text) < 400 and lines < 12:
        return None
    cut = f", of which {len(text) - most:,} are not shown" if len(text) > most else ""
    return el("p", {"class": "size"}, f"{len(text):,} characters{cut}, {text.count(chr(10)) + 1:,} lines")


def _kind(line: str) -> str:
    if line.startswith(("+++", "---", "***")):
        return "line"
    return {"+": "line added", "-": "line removed", "@": "line place"}.get(line[:1], "line")


def _stretch(lines: Sequence[str]) -> Html | None:
    plain = "\n".join(lines)
    shown = "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines)
    return el("span", {"class": "line"}, shown if shown == plain else _mark(shown)) if lines else None


def _tabbed(line: str, *, dense: bool) -> Iterable[Html]:
    parts = line.split("\t")
    if dense and len(parts) > 1:
        yield _pieces(line, dense=True)
        return
    for place, part in enumerate(parts):
        if place:
            yield el("span", {"class": "tab"}, "\t")
        yield _pieces(part, dense=dense)


def _pieces(text: str, *, dense: bool = False) -> Html:
    shown = list(pieces(text))
    marks = sum(escaped for _, escaped in shown)
    if marks > MOST_MARKS or (dense and marks):
        return _mark("".join(piece for piece, _ in shown))
    return join(_mark(piece) if escaped else piece for piece, escaped in shown)


def _mark(text: str) -> Html:
    return el("mark", {"class": "escape"}, text)


def _cut(text: str, most: int = MOST_SHOWN) -> str:
    left = len(text) - most
    if left <= 0:
        return text
    return f"{text[: most * 2 // 3]}\n[… {left:,} characters are not shown …]\n{text[-(most // 3) :]}"
