"""The figures as a page: docs/benchmarks.md. What is measured is made anew; what was learned from it is kept from the page before."""

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring import Figure

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

KEPT = "## What they show"
"""From this heading on the page is written by hand."""

TITLES = {
    "decisions": "Decisions",
    "servers": "Servers over stdio",
    "children": "Children",
    "crowds": "Crowds",
    "console": "The console in a browser",
    "searching": "Searching",
    "shell": "Reading lines of shell",
    "sandbox": "The sandbox",
    "load": "Other servers behind it",
}

HEAD = """# Benchmarks

What Remit costs, each figure beside a peer that was measured in the same run, by turns.

```console
$ make bench
```

"""


def page(found: Mapping[str, Sequence[Figure]]) -> str:
    """The whole page."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    _, kept, learned = before.partition(KEPT)
    return "".join(
        [HEAD, f"{_where()}\n", *(section(name, figures) for name, figures in found.items()), f"\n{kept}{learned}" if kept else ""]
    )


def in_place(name: str, figures: Sequence[Figure], load: str) -> str:
    """The page with this section made anew, and when that was; the rest as it was. `load`: of the machine, before the run."""
    text, title = PAGE.read_text(encoding="utf-8"), f"\n## {TITLES[name]}\n"
    before, found, after = text.partition(title if title in text else f"\n{KEPT}")
    rest = after[after.index("\n## ") :] if title in text else f"{found}{after}"
    today = f"{datetime.datetime.now(datetime.UTC):%d %B %Y}"
    when = f"\n{today}, by itself: `python -m benchmarks {name} --write`. Load before the run: {load}.\n"
    return f"{before}{section(name, figures)}{when}{rest}"


def section(name: str, figures: Sequence[Figure]) -> str:
    """A heading and a table."""
    rows = "\n".join(row(figure) for figure in figures)
    return f"\n## {TITLES[name]}\n\n| what | measured | target | met | how |\n|---|---|---|---|---|\n{rows}\n"


def row(figure: Figure) -> str:
    """One line of the table."""
    met = "" if figure.met is None else "yes" if figure.met else "**no**"
    return f"| {figure.name} | {figure.measured} | {figure.target} | {met} | {figure.how} |"


def _where() -> str:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    peers = ", ".join(f"{name} {version(name)}" for name in ("mcp", "casbin", "cedarpy"))
    return (
        f"{datetime.datetime.now(datetime.UTC):%d %B %Y}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors, "
        f"Python {platform.python_version()}, {peers}. Load of the machine after the run: {load}; past the number of processors it was "
        "busy with other things, and times are longer than they need be, while ratios hold."
    )
