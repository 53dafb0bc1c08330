"""The official conformance suite, every server scenario that the two revisions ask for and the extension's ten."""

from pathlib import Path

import pytest

from tests.conformance.page import row, written
from tests.conformance.suite import NODE, NOT_PASSED, REVISIONS, SERVED, SUITE, TASKS, Against, Outcome, run, serving

installed = pytest.mark.skipif(
    not (SUITE.exists() and NODE.exists()), reason="the conformance suite is not installed; `make suite` brings it and the Node it needs"
)
each_server = pytest.mark.parametrize("server", ["remit serve", "fixture"])
each_revision = pytest.mark.parametrize("revision", REVISIONS)


def outcomes_of(revision: str, server: Against, folder: Path) -> tuple[Outcome, ...]:
    with serving(server, folder) as url:
        return run(url, revision, server, folder / "found")


@installed
@each_revision
@each_server
def test_every_scenario_comes_out_as_the_page_says(revision: str, server: Against, tmp_path: Path) -> None:
    """The suite has clocks of its own, which nobody here can set: what a busy machine spoils is tried again, what is wrong stays so."""
    found, failed = (), ["never tried"]
    for attempt in range(3):
        folder = tmp_path / f"{attempt}"
        folder.mkdir()
        found = outcomes_of(revision, server, folder)
        wrong = [outcome for outcome in found if (revision, outcome.scenario) not in NOT_PASSED]
        failed = [f"{outcome.scenario}: {fault}" for outcome in wrong for fault in outcome.faults]
        if not failed:
            break
    assert failed == []
    _as_the_page_says(revision, server, found)


def _as_the_page_says(revision: str, server: Against, found: tuple[Outcome, ...]) -> None:
    told = f"| {revision} | ", "`remit serve --http`" if server == "remit serve" else "the fixture server"
    assert sorted(row(outcome) for outcome in found) == sorted(line for line in written() if line.startswith(told[0]) and told[1] in line)
    if server == "remit serve":
        assert {outcome.scenario for outcome in found} == SERVED[revision]
    elif revision == "2026-07-28":
        assert {outcome.scenario for outcome in found} > TASKS


def test_the_page_gives_a_reason_for_whatever_does_not_pass() -> None:
    rows = written()
    assert len(rows) > 80
    assert [line for line in rows if "passes" not in line and not any(why in line for why in NOT_PASSED.values())] == []
    assert {scenario for scenario in TASKS if not any(f"`{scenario}`" in line for line in rows)} == set()
