"""HTML from standard input to Markdown or plain text on standard output. Run apart: `apart("mcp_server.tools.web.html", …)`.

First the page is rewritten into a small, well-formed one: known attributes, no scripts, bounded nesting. Only that is given to the
library that makes Markdown, which recurses.
"""

import re
import sys
from collections.abc import Iterable
from html import escape
from html.parser import HTMLParser
from typing import Literal
from urllib.parse import urljoin, urlsplit

DEEPEST = 100
"""Elements inside one another. Browsers stop at 512; the library recurses three frames for each."""

MOST_TAGS = 20_000
"""Elements kept; after them only the text is."""

LONGEST_LINK = 2000
"""Characters. A longer one, or one with its content inside (`data:`), says nothing to a reader."""

LONGEST_OUTPUT = 5 * 1024 * 1024
"""Characters written."""

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space."""

_LEFT_OUT = "script style noscript template svg math iframe object embed canvas audio video select textarea button"
_VOID = "br hr img area base col input link meta source track wbr param"
_BLOCKS = (
    "address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead title tr ul"
)
LEFT_OUT, VOID, BLOCKS = (frozenset(names.split()) for names in (_LEFT_OUT, _VOID, _BLOCKS))
ENDED_BY = {
    "li": (("li",), ("ul", "ol", "menu")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "tr": (("tr", "td", "th"), ("table",)),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "p": (("p",), ("td", "th", "li", "div", "table")),
}
"""Which open elements an element ends where people leave out their end tags, and which stop the search."""


_SPACE = re.compile(r"\s+")
_LONG_SPACE = re.compile(r"(\s{200})\s+")


class Rewriter(HTMLParser):
    """Takes a page and keeps what a reader sees of it."""

    def __init__(self, base: str, sort: Literal["markdown", "text"]) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._plain = sort == "text"
        self._open: list[str] = []
        self._left_out: str | None = None
        self._inside = 0
        self._tags = 0
        self._out: list[str] = []
        self._blank = False

    def finished(self) -> str:
        """What was kept."""
        self.close()
        if not self._plain:
            self._out += [f"</{name}>" for name in reversed(self._open)]
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._left_out is not None:
            self._inside += tag == self._left_out
            return
        if tag in LEFT_OUT:
            self._left_out, self._inside = tag, 1
        elif tag in BLOCKS and self._plain:
            self._out.append("\n")
        elif not self._plain:
            self._keep(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in LEFT_OUT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._left_out is not None:
            self._inside -= tag == self._left_out
            if self._inside <= 0:
                self._left_out = None
        elif self._plain:
            self._out += ["\n"] if tag in BLOCKS else []
        elif tag in self._open:
            self._end(len(self._open) - 1 - self._open[::-1].index(tag))

    def take(self, data: str) -> None:
        """Text between tags."""
        if self._left_out is None:
            self._text(data)

    handle_data = take  # the parser's own name for it

    def _keep(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._close_before(tag)
        self._tags += 1
        if self._tags > MOST_TAGS or (tag not in VOID and len(self._open) >= DEEPEST):
            self._text(" ")
            return
        self._blank = False
        self._out.append(f"<{tag}{self._attributes(tag, attrs)}>")
        if tag not in VOID:
            self._open.append(tag)

    def _text(self, data: str) -> None:
        """White space outside `pre` as one blank, also where it comes in pieces: the library takes time by its square."""
        if not self._plain and "pre" not in self._open:
            data = _SPACE.sub(" ", data)
            data = data[1:] if self._blank and data.startswith(" ") else data
        else:
            data = _LONG_SPACE.sub(r"\1", data)
        if data:
            self._blank = data.endswith(" ")
            self._out.append(data if self._plain else escape(data, quote=False))

    def _close_before(self, tag: str) -> None:
        """End what the element ends where its end tag was left out."""
        names, stops = ENDED_BY.get(tag, ((), ()))
        if not names:
            return
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in names:
                self._end(at)
            elif self._open[at] in stops:
                return

    def _end(self, at: int) -> None:
        self._out += [f"</{name}>" for name in reversed(self._open[at:])]
        del self._open[at:]

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> str:
        said = {name: value for name, value in attrs if value}
        kept = {name: said[name][:500] for name in ("alt", "title") if name in said}
        for name, element in (("href", "a"), ("src", "img")):
            if tag == element and name in said and (link := self._link(said[name])):
                kept[name] = link
        return "".join(f' {name}="{escape(value)}"' for name, value in kept.items())

    def _link(self, text: str) -> str | None:
        if len(text) > LONGEST_LINK:
            return None
        try:
            whole = urljoin(self._base, text.strip())
            return whole if urlsplit(whole).scheme in ("http", "https", "mailto") else None
        except ValueError:
            return None


def converted(page: str, base: str, sort: Literal["markdown", "text"]) -> str:
    """The page as Markdown or as text."""
    rewriter = Rewriter(base, sort)
    rewriter.feed(page)
    kept = rewriter.finished()
    if sort == "text":
        return _tidied(" ".join(line.split()) for line in kept.split("\n"))
    from markdownify import ATX, MarkdownConverter  # noqa: PLC0415 - a quarter of a second that plain text does not need

    made = MarkdownConverter(heading_style=ATX, bullets="-").convert(kept)
    return _tidied(line.rstrip() for line in made.split("\n"))


def _tidied(lines: Iterable[str]) -> str:
    """At most one empty line after another."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _bound_memory() -> None:
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - POSIX only

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main(sort: str, base: str) -> None:
    """From standard input to standard output."""
    _bound_memory()
    page = sys.stdin.buffer.read().decode(errors="replace")
    text = converted(page, base, "text" if sort == "text" else "markdown")
    sys.stdout.buffer.write(text[:LONGEST_OUTPUT].encode(errors="replace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
