"""`python -m benchmarks`: every figure, each against its peer in the same run, on standard output and in docs/benchmarks.md.

With names of parts (`decisions servers children`) only those are measured, and nothing is written; with `--write` too, their sections are.
"""

import logging
import os
import signal
import sys
from types import FrameType

import structlog

from benchmarks import children, console, crowds, decisions, load, sandbox, searching, servers, shell
from benchmarks.report import PAGE, in_place, page, row

PARTS = {
    "decisions": decisions.figures,
    "servers": servers.figures,
    "children": children.figures,
    "crowds": crowds.figures,
    "console": console.figures,
    "searching": searching.figures,
    "shell": shell.figures,
    "sandbox": sandbox.figures,
    "load": load.figures,
}


def main() -> None:
    """Measure, show, write."""
    signal.signal(signal.SIGTERM, _stop)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    wanted = [name for name in PARTS if name in sys.argv[1:]]
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    found = {name: PARTS[name]() for name in wanted or PARTS}
    for figures in found.values():
        for figure in figures:
            sys.stdout.write(row(figure) + "\n")
    if wanted and "--write" in sys.argv:
        for name, figures in found.items():
            PAGE.write_text(in_place(name, figures, load), encoding="utf-8")
    if not wanted:
        PAGE.write_text(page(found), encoding="utf-8")


def _stop(number: int, frame: FrameType | None) -> None:
    """What was started is ended all the same."""
    sys.exit(1)


if __name__ == "__main__":
    main()
