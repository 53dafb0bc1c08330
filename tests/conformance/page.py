"""The table of `docs/conformance.md`: written by `make conformance`, held by the tests."""

from collections.abc import Iterable

from tests.conformance.suite import NOT_PASSED, ROOT, Outcome

PAGE = ROOT / "docs" / "conformance.md"
HEADING = "## Results\n"
HEAD = "| revision | scenario | against | result |\n| --- | --- | --- | --- |\n"


def row(outcome: Outcome) -> str:
    """One line. How many checks a scenario makes is the suite's affair and is not told."""
    why = NOT_PASSED.get((outcome.revision, outcome.scenario))
    against = "`remit serve --http`" if outcome.against == "remit serve" else "the fixture server"
    return f"| {outcome.revision} | `{outcome.scenario}` | {against} | {outcome.word}{f': {why}' if why else ''} |\n"


def rows_of(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """In the order of the table."""
    return tuple(row(outcome) for outcome in sorted(outcomes, key=lambda one: (one.revision, one.scenario)))


def written() -> tuple[str, ...]:
    """The rows that the page shows."""
    _, _, results = PAGE.read_text("utf-8").partition(HEADING)
    return tuple(line for line in results.splitlines(keepends=True) if line.startswith("| 2"))


def rewrite(outcomes: Iterable[Outcome]) -> None:
    """Put these results in place of the page's."""
    before, _, _ = PAGE.read_text("utf-8").partition(HEADING)
    PAGE.write_text(before + HEADING + "\n" + HEAD + "".join(rows_of(outcomes)), "utf-8")
