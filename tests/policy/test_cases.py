"""The shared cases, each a test of its own, run as `remit test` runs them."""

import pytest

from mcp_server.cli.cases.loaders import load_policy
from mcp_server.cli.cases.reading import PlacedCase, read_cases
from mcp_server.cli.cases.running import End, run_cases
from tests.cases_folder import CASES, KEPT

FILES = ("wildcards.yaml", "decisions.yaml", "spawns.yaml", "shell.yaml")


@pytest.mark.parametrize("case", read_cases([CASES / name for name in FILES]), ids=lambda case: f"{case.file.stem}:{case.name}"[:90])
def test_the_case_is_decided_as_it_says(case: PlacedCase):
    (result,) = run_cases((case,), load_policy)
    assert result.end is End.PASSED, f"want {result.want}, got {result.got}: {result.why}"


def test_the_copies_kept_here_are_the_shared_ones():
    kept = {file.name: file.read_bytes() for file in KEPT.iterdir()}
    # In a checkout by itself there is nothing to compare with, and the copies are what the tests read.
    shared = {file.name: file.read_bytes() for file in CASES.iterdir()}
    assert len(kept) == 5
    assert kept == shared
