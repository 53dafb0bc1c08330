"""The table of `docs/conformance.md`: written by `make conformance`, held by the tests."""

from collections.abc import Iterable, Mapping, Sequence

from tests.conformance.suite import DIFFERS, DIRECT, NOT_PASSED, ROOT, Against, Outcome

PAGE = ROOT / "docs" / "conformance.md"
HEADING = "## Results\n"
HEAD = "| revision | scenario | against | result |\n| --- | --- | --- | --- |\n"
THROUGH_HEADING = "## Through Remit\n"
THROUGH_HEAD = "| revision | scenario | directly | over HTTP | over stdio | why |\n| --- | --- | --- | --- | --- | --- |\n"
COLUMNS: tuple[Against, ...] = ("fixture", "remit before http", "remit before stdio")


def row(outcome: Outcome) -> str:
    """One line. How many checks a scenario makes is the suite's affair and is not told."""
    why = NOT_PASSED.get((outcome.revision, outcome.scenario))
    against = "`remit serve --http`" if outcome.against == "remit serve" else "the fixture server"
    return f"| {outcome.revision} | `{outcome.scenario}` | {against} | {outcome.word}{f': {why}' if why else ''} |\n"


def rows_of(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """In the order of the table."""
    return tuple(row(outcome) for outcome in sorted(outcomes, key=lambda one: (one.revision, one.scenario)))


def through_rows_of(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """One for each scenario of the fixture server: how it came out directly, and with Remit before it."""
    words = {(one.revision, one.scenario, one.against): one.word for one in outcomes}
    found = sorted({(revision, scenario) for revision, scenario, against in words if against in COLUMNS})
    return tuple(
        f"| {revision} | `{scenario}` | {' | '.join(words[revision, scenario, column] for column in COLUMNS)} | "
        f"{DIFFERS.get((revision, scenario), '')} |\n"
        for revision, scenario in found
    )


def written() -> tuple[str, ...]:
    """The rows that the page shows of Remit alone."""
    before, _, _ = PAGE.read_text("utf-8").partition(THROUGH_HEADING)
    return tuple(line for line in before.splitlines(keepends=True) if line.startswith("| 2"))


def written_through() -> Mapping[tuple[str, str], tuple[Mapping[Against, str], str]]:
    """By revision and scenario: the words that the page shows in each column, and why they differ."""
    _, _, after = PAGE.read_text("utf-8").partition(THROUGH_HEADING)
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in after.splitlines() if line.startswith("| 2")]
    return {(one[0], one[1].strip("`")): (dict(zip(COLUMNS, one[2:5], strict=True)), one[5]) for one in cells}


def rewrite(outcomes: Sequence[Outcome]) -> None:
    """Put these results in place of the page's."""
    before, _, rest = PAGE.read_text("utf-8").partition(HEADING)
    _, _, through = rest.partition(THROUGH_HEADING)
    words, _, _ = through.partition(THROUGH_HEAD)
    direct = "".join(rows_of(one for one in outcomes if one.against in DIRECT))
    behind = "".join(through_rows_of(outcomes))
    PAGE.write_text(f"{before}{HEADING}\n{HEAD}{direct}\n{THROUGH_HEADING}{words}{THROUGH_HEAD}{behind}", "utf-8")
