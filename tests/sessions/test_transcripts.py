"""What comes next is read from the stored transcript alone."""

from dataclasses import replace

import pytest

from mcp_server.policy.values import CallId
from mcp_server.records import CallStarted, Ending, Entry, RefusedCall, RunId
from mcp_server.sessions.transcripts import NeedsCalls, NeedsTurn, SaidAll, last_words, next_step, refused_in, repeats, turns_of
from tests.models.transcripts import call, ended, said, stored, task

ONE, TWO = call("c1", filePath="a"), call("c2", filePath="b")
NOTHING = frozenset[CallId]()


def begun(name: str) -> CallStarted:
    return CallStarted(call_id=CallId(name))


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [task()],
        [task(), said("", ONE), begun("c1"), ended("c1")],
        [task(), said("done"), task("more")],
        [task(), said("", ONE), begun("c1"), task("more after a cancel")],
        [task(), said("", ONE, TWO), ended("c2"), ended("c1")],
    ],
    ids=["empty", "a task", "all calls ended", "another task", "cut off and given more", "ended in another order"],
)
def test_the_model_is_to_speak_when_nothing_is_open(entries: list[Entry]) -> None:
    assert next_step(stored(entries), NOTHING) == NeedsTurn()


def test_a_turn_without_calls_is_the_result() -> None:
    assert next_step(stored([task(), said("", ONE), ended("c1"), said("done")]), NOTHING) == SaidAll(text="done")


def test_open_calls_are_made_and_those_a_dead_process_began_are_interrupted() -> None:
    entries = stored([task(), said("", ONE, TWO, call("c3")), begun("c1"), begun("c2"), ended("c2")])
    assert next_step(entries, NOTHING) == NeedsCalls(calls=(ONE, call("c3")), interrupted=frozenset({CallId("c1")}))


def test_calls_past_the_number_of_one_turn_are_known_as_that() -> None:
    many = tuple(call(f"c{number}") for number in range(34))
    step = next_step(stored([task(), said("", *many), ended("c0"), ended("c33")]), NOTHING)
    assert isinstance(step, NeedsCalls)
    assert step.calls == many[1:33]
    assert step.beyond == {CallId("c32"), CallId("c33")}


def test_what_this_process_runs_is_not_interrupted() -> None:
    entries = stored([task(), said("", ONE), begun("c1")])
    assert next_step(entries, frozenset({CallId("c1")})) == NeedsCalls(calls=(ONE,), interrupted=NOTHING)


@pytest.mark.parametrize(
    ("turns", "looks"),
    [
        ([["a"], ["a"], ["a"]], True),
        ([["a", "a", "a"]], True),
        ([["a"], ["a"]], False),
        ([["a"], ["b"], ["a"], ["a"]], False),
        ([["b"], ["a"], ["a"], ["a"]], True),
        ([["a"], ["a"], ["a"], ["a"]], True),
    ],
)
def test_the_third_same_call_running_looks_like_a_loop(turns: list[list[str]], looks: bool) -> None:
    made = [[call(f"c{i}{j}", filePath=path) for j, path in enumerate(turn)] for i, turn in enumerate(turns)]
    entries = stored([task(), *(said("", *calls) for calls in made)])
    assert repeats(entries, RunId("run_1"), made[-1][-1]) is looks


def test_the_same_words_to_another_tool_are_no_loop() -> None:
    calls = [call("c1", "read", filePath="a"), call("c2", "edit", filePath="a"), call("c3", "read", filePath="a")]
    assert not repeats(stored([said("", *calls)]), RunId("run_1"), calls[-1])


def test_a_run_counts_its_own_turns_words_and_refusals_only() -> None:
    refused = RefusedCall(session_path=("build", "explore"), tool="read", summary="a", ending=Ending.DENIED_BY_RULE, reason="")
    denied = replace(ended("c1", ending=Ending.DENIED_BY_RULE), refused=(refused,))
    first = stored([task(), said("first", ONE), denied])
    second = stored([task(), said("second", TWO), ended("c2"), said("")], run="run_2", start=3)
    entries = (*first, *second)
    assert [turns_of(entries, RunId(run)) for run in ("run_1", "run_2")] == [1, 2]
    assert [last_words(entries, RunId(run)) for run in ("run_1", "run_2")] == ["first", "second"]
    assert [refused_in(entries, RunId(run)) for run in ("run_1", "run_2")] == [(refused,), ()]
