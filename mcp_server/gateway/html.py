"""HTML whose text cannot become markup: what is not `Html` already is text, and nothing else makes `Html`."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_server.sessions.visible import pieces, visible

MOST_SHOWN = 200_000
"""Characters of one text on a page. The longest arguments that tools take in practice fit; a browser stays quick."""

MOST_MARKS = 300
"""Marked escapes in one text. Where there are more, a line is marked as a whole: thousands of small marks make a browser slow."""

MOST_LINES = 5000
"""Lines of one text that are coloured and marked one by one. Those behind them are shown as one stretch, for the same reason."""

VOID = frozenset({"input", "link", "meta", "br", "hr"})


Attributes = Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class Element:
    """One element, as it is before it is written."""

    name: str
    attributes: Attributes
    children: tuple["Element | str", ...]


@dataclass(frozen=True, slots=True)
class Html:
    """Elements and text, that only this module makes. Written as markup for a page, or as a tree for a script that builds them."""

    nodes: tuple[Element | str, ...]

    @property
    def text(self) -> str:
        """As markup."""
        return "".join(map(_markup, self.nodes))

    @property
    def tree(self) -> list[Any]:
        """As JSON: a text is a string, an element is `[name, attributes, child, ...]`."""
        return [_branch(node) for node in self.nodes]


Child = Html | str | None


def el(name: str, attributes: Attributes | None = None, *children: Child | Iterable[Child]) -> Html:
    """One element. A string among the children is text; None is left out. Attributes: True stands alone, False is left out."""
    return Html((Element(name, attributes or {}, join(*children).nodes),))


def join(*children: Child | Iterable[Child]) -> Html:
    """Several things as one."""
    return Html(tuple(node for child in children for node in _nodes(child)))


def _nodes(child: Child | Iterable[Child]) -> tuple[Element | str, ...]:
    if child is None:
        return ()
    if isinstance(child, Html):
        return child.nodes
    if isinstance(child, str):
        return (child,)
    return tuple(node for one in child for node in _nodes(one))


def _markup(node: Element | str) -> str:
    if isinstance(node, str):
        return html.escape(node, quote=False)
    written = "".join(_attribute(key, value) for key, value in node.attributes.items())
    if node.name in VOID:
        return f"<{node.name}{written}>"
    return f"<{node.name}{written}>{''.join(map(_markup, node.children))}</{node.name}>"


def _attribute(key: str, value: str | bool) -> str:
    if isinstance(value, bool):
        return f" {key}" if value else ""
    return f' {key}="{html.escape(value)}"'


def _branch(node: Element | str) -> Any:
    if isinstance(node, str):
        return node
    attributes = {key: "" if value is True else value for key, value in node.attributes.items() if value is not False}
    return [node.name, attributes, *map(_branch, node.children)]


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
