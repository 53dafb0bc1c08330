"""Servers that die at any point of a run, and a sample of the campaign that looks for what they lose."""

import subprocess
import sys

from mcp_server.sessions.transitions import TRANSITIONS
from tests.faults.campaign import MIDSTS
from tests.faults.points import SIDES, step_name
from tests.faults.tales import TALES
from tests.protocol.connect import ROOT

SAMPLE, SEED = 24, 20261130
"""Every step of the table on both sides, and two more: under a minute on two busy processors."""


def test_every_step_that_a_run_can_take_has_a_tale_that_takes_it() -> None:
    assert frozenset().union(*(tale.steps for tale in TALES.values())) == TRANSITIONS


def test_killed_before_and_after_each_step_a_run_ends_right_and_does_nothing_twice() -> None:
    campaign = [sys.executable, "-m", "tests.faults", str(SAMPLE), str(SEED)]
    told = subprocess.run(campaign, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    points = {tuple(line.strip().split(": ", 1)) for line in told.stdout.splitlines() if line.startswith("  ")}
    assert points >= {(side, step_name(old.value, new.value)) for old, new in TRANSITIONS for side in SIDES}


def test_the_places_between_writes_are_named_and_told_by_tales_there_are() -> None:
    assert {midst.tale for midst in MIDSTS} <= set(TALES)
    assert len({midst.name for midst in MIDSTS}) == len(MIDSTS)
