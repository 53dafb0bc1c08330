"""The official conformance suite, every server scenario that the two revisions ask for and the extension's ten."""

from pathlib import Path

import pytest

from tests.conformance.page import row, written, written_through
from tests.conformance.suite import (
    DIFFERS,
    DIRECT,
    NODE,
    NOT_PASSED,
    REVISIONS,
    SERVED,
    SUITE,
    TASKS,
    THROUGH,
    Against,
    Outcome,
    excused,
    run,
    serving,
)

installed = pytest.mark.skipif(
    not (SUITE.exists() and NODE.exists()), reason="the conformance suite is not installed; `make suite` brings it and the Node it needs"
)
each_server = pytest.mark.parametrize("server", DIRECT)
each_way = pytest.mark.parametrize("server", THROUGH)
each_revision = pytest.mark.parametrize("revision", REVISIONS)


def outcomes_of(revision: str, server: Against, folder: Path) -> tuple[Outcome, ...]:
    with serving(server, revision, folder) as url:
        return run(url, revision, server, folder / "found")


@installed
@each_revision
@each_server
def test_every_scenario_comes_out_as_the_page_says(revision: str, server: Against, tmp_path: Path) -> None:
    """The suite has clocks of its own, which nobody here can set: what a busy machine spoils is tried again, what is wrong stays so."""
    found = tried(revision, server, tmp_path)
    _as_the_page_says(revision, server, found)


@installed
@each_revision
@each_way
def test_a_server_behind_remit_comes_out_as_the_page_says(revision: str, server: Against, tmp_path: Path) -> None:
    found = {outcome.scenario: outcome.word for outcome in tried(revision, server, tmp_path)}
    assert found == {scenario: words[server] for (of, scenario), (words, _) in written_through().items() if of == revision}


def tried(revision: str, server: Against, folder: Path) -> tuple[Outcome, ...]:
    found, failed = (), ["never tried"]
    for attempt in range(3):
        within = folder / f"{attempt}"
        within.mkdir()
        found = outcomes_of(revision, server, within)
        failed = [f"{outcome.scenario}: {fault}" for outcome in found if not excused(outcome) for fault in outcome.faults]
        if not failed:
            break
    assert failed == []
    return found


def _as_the_page_says(revision: str, server: Against, found: tuple[Outcome, ...]) -> None:
    told = f"| {revision} | ", "`remit serve --http`" if server == "remit serve" else "the fixture server"
    assert sorted(row(outcome) for outcome in found) == sorted(line for line in written() if line.startswith(told[0]) and told[1] in line)
    if server == "remit serve":
        assert {outcome.scenario for outcome in found} == SERVED[revision]
    elif revision == "2026-07-28":
        assert {outcome.scenario for outcome in found} > TASKS


def test_the_page_gives_a_reason_for_whatever_comes_out_otherwise_with_remit_before_a_server() -> None:
    rows = written_through()
    assert len(rows) > 60
    assert {at for at, (words, why) in rows.items() if len({*words.values()}) > 1 and not why} == set()
    assert {at: why for at, (_, why) in rows.items() if why} == DIFFERS


def test_the_page_gives_a_reason_for_whatever_does_not_pass() -> None:
    rows = written()
    assert len(rows) > 80
    assert [line for line in rows if "passes" not in line and not any(why in line for why in NOT_PASSED.values())] == []
    assert {scenario for scenario in TASKS if not any(f"`{scenario}`" in line for line in rows)} == set()
