"""The states of a run, as a table that is checked in every step."""

from itertools import product

import pytest

from mcp_server.records import FINAL, RunState
from mcp_server.sessions.transitions import TRANSITIONS, check, is_final


@pytest.mark.parametrize(("old", "new"), list(product(RunState, RunState)))
def test_a_run_takes_the_steps_of_the_table_and_no_other(old: RunState, new: RunState) -> None:
    if (old, new) in TRANSITIONS:
        assert check(old, new) is new
    else:
        with pytest.raises(AssertionError, match=f"from {old.value} to {new.value}"):
            check(old, new)


def test_nothing_follows_an_end_and_every_other_state_can_be_cancelled() -> None:
    assert {old for old, _ in TRANSITIONS}.isdisjoint(FINAL)
    assert {old for old, new in TRANSITIONS if new is RunState.CANCELLED} == set(RunState) - FINAL
    assert [is_final(state) for state in RunState] == [state in FINAL for state in RunState]


def test_every_state_can_be_reached() -> None:
    assert {new for _, new in TRANSITIONS} | {RunState.QUEUED} == set(RunState)
