import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import ModelTurn, SessionRecord, TaskGiven, Usage
from mcp_server.store.codec import ENTRY, SESSION
from mcp_server.store.faults import UnreadableRow, UnwritableValue
from tests.store.samples import a_session

any_text = st.text(st.characters(), max_size=30)
any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


def a_turn(arguments: dict[str, Any]) -> ModelTurn:
    return ModelTurn(text="", calls=(ToolCall(id=CallId("c"), tool="t", arguments=arguments),), model="m", usage=Usage())


@given(st.dictionaries(any_text, any_json, max_size=4))
def test_the_arguments_of_a_call_read_back_as_they_were(arguments: dict[str, Any]) -> None:
    turn = a_turn(arguments)
    assert ENTRY.load(ENTRY.dump(turn), 1) == turn


@given(any_text)
def test_text_reads_back_as_it_was(text: str) -> None:
    assert ENTRY.load(ENTRY.dump(TaskGiven(text=text)), 1) == TaskGiven(text=text)


def test_a_number_that_json_does_not_know_is_not_turned_into_nothing() -> None:
    turn = ENTRY.load(ENTRY.dump(a_turn({"n": math.nan})), 1)
    assert isinstance(turn, ModelTurn)
    assert math.isnan(turn.calls[0].arguments["n"])


def nested(depth: int) -> dict[str, Any]:
    return {} if depth == 0 else {"a": nested(depth - 1)}


def test_a_value_nested_deeper_than_strict_json_goes_reads_back_as_it_was() -> None:
    turn = a_turn(nested(220))
    assert ENTRY.load(ENTRY.dump(turn), 1) == turn


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize("value", [object(), b"\xff", endless()], ids=["object", "bytes", "endless"])
def test_a_value_without_a_json_form_is_refused(value: Any) -> None:
    with pytest.raises(UnwritableValue, match="the transcript entry has no JSON form"):
        ENTRY.dump(a_turn({"n": value}))


def test_a_key_that_is_not_known_is_passed_over() -> None:
    text = SESSION.dump(a_session()).replace('{"id"', '{"of_the_future":[1],"id"', 1)
    assert SESSION.load(text, "root") == a_session()


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"kind":"task"}', '{"kind":"unheard","text":""}', "[" * 100_000])
def test_what_is_no_record_is_reported_with_its_key(text: str) -> None:
    with pytest.raises(UnreadableRow, match="the transcript entry 7 cannot be read back"):
        ENTRY.load(text, 7)


def test_a_record_short_of_a_field_is_reported() -> None:
    with pytest.raises(UnreadableRow, match="the session root"):
        SESSION.load(SESSION.dump(a_session()).replace('"workspace"', '"workplace"'), "root")


def test_each_record_is_built_as_its_own_class() -> None:
    assert type(SESSION.load(SESSION.dump(a_session()), "root")) is SessionRecord
