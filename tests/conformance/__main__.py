"""`make conformance`: run every scenario, write the table, and say what failed."""

import sys
import tempfile
from pathlib import Path

from tests.conformance.page import rewrite
from tests.conformance.suite import DIRECT, REVISIONS, THROUGH, Outcome, excused, run, serving


def every_outcome() -> tuple[Outcome, ...]:
    """Of both revisions, against both servers."""
    found: list[Outcome] = []
    for revision in REVISIONS:
        for server in (*DIRECT, *THROUGH):
            with tempfile.TemporaryDirectory() as folder, serving(server, revision, Path(folder)) as url:
                found.extend(run(url, revision, server, Path(folder) / "found"))
    return tuple(found)


def main() -> int:
    """0: everything passes that is not known not to."""
    outcomes = every_outcome()
    rewrite(outcomes)
    for outcome in outcomes:
        sys.stdout.write(f"{outcome.revision} {outcome.scenario}: {outcome.word} ({outcome.passed} checks), {outcome.against}\n")
        sys.stdout.writelines(f"    {fault}\n" for fault in outcome.faults)
    return int(any(outcome.failed and not excused(outcome) for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
