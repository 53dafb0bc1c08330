"""The states of a run and every step between them. What is not in this table does not happen."""

from mcp_server.records import FINAL, RunState

TRANSITIONS: frozenset[tuple[RunState, RunState]] = frozenset(
    {
        (RunState.QUEUED, RunState.RUNNING),
        (RunState.QUEUED, RunState.CANCELLED),
        (RunState.RUNNING, RunState.RUNNING),
        (RunState.RUNNING, RunState.WAITING),
        (RunState.RUNNING, RunState.QUEUED),
        (RunState.RUNNING, RunState.COMPLETED),
        (RunState.RUNNING, RunState.FAILED),
        (RunState.RUNNING, RunState.CANCELLED),
        (RunState.RUNNING, RunState.EXPIRED),
        (RunState.WAITING, RunState.RUNNING),
        (RunState.WAITING, RunState.CANCELLED),
    }
)
"""`RUNNING → QUEUED` is a server that stops in good order: the run goes on when one starts for that workspace."""


def check(old: RunState, new: RunState) -> RunState:
    """The new state, if the table knows the step.

    Raises:
        AssertionError: It does not; that is a fault of the program, not of its input.
    """
    if (old, new) not in TRANSITIONS:
        raise AssertionError(f"a run cannot go from {old.value} to {new.value}")
    return new


def is_final(state: RunState) -> bool:
    """Nothing follows it."""
    return state in FINAL
