from typing import Any

import pytest

from mcp_server.policy.matching import matches
from mcp_server.policy.values import Action, Condition, PlainValue, Rule


def meets(action: Action, condition: Condition, arguments: dict[str, Any]) -> bool:
    tested = Rule(permission="git__merge", pattern="*", action=action, when=(condition,))
    return matches(tested, "git__merge", PlainValue(text="*"), arguments)


HOLDS: list[tuple[Condition, dict[str, Any]]] = [
    (Condition(path=("base",), equals="main"), {"base": "main"}),
    (Condition(path=("base",), matches="release/*"), {"base": "release/1"}),
    (Condition(path=("size",), minimum=1, maximum=3), {"size": 3}),
    (Condition(path=("base",), matches="docs/*"), {"base": "docs/a..b/...c"}),
    (Condition(path=("base",), matches="up *"), {"base": "up ../one"}),
    (Condition(path=("size",), equals=1), {"size": 1.0}),
    (Condition(path=("pull", "draft"), equals=True), {"pull": {"draft": True}}),
    (Condition(path=("base",), one_of=("main", "next")), {"base": "next"}),
    (Condition(path=("labels",), equals=("a", "b")), {"labels": ["a", "b"]}),
]

FAILS: list[tuple[Condition, dict[str, Any]]] = [
    (Condition(path=("base",), equals="main"), {"base": "topic"}),
    (Condition(path=("base",), matches="release/*"), {"base": "main"}),
    (Condition(path=("size",), minimum=1, maximum=3), {"size": 4}),
    (Condition(path=("base",), one_of=("main", "next")), {"base": "topic"}),
    (Condition(path=("labels",), equals=["a"]), {"labels": ["a", "b"]}),
    (Condition(path=("labels",), equals={"a": 1}), {"labels": {"a": True}}),
    (Condition(path=("size",), minimum=1, equals="x"), {"size": 0}),
]

DOUBTFUL: list[tuple[Condition, dict[str, Any]]] = [
    (Condition(path=("base",), equals="main"), {}),
    (Condition(path=("base",), equals="main"), {"base": 7}),
    (Condition(path=("base",), matches="*"), {"base": None}),
    (Condition(path=("path",), matches="docs/*"), {"path": "docs/../keys"}),
    (Condition(path=("path",), matches="docs/*"), {"path": "docs\\..\\keys"}),
    (Condition(path=("path",), matches="/ws/keys/*"), {"path": "/ws/docs/../keys/x"}),
    (Condition(path=("path",), matches="docs/*"), {"path": "docs/.."}),
    (Condition(path=("path",), matches="README*"), {"path": "README/../keys"}),
    (Condition(path=("size",), minimum=1), {"size": True}),
    (Condition(path=("size",), minimum=1), {"size": "2"}),
    (Condition(path=("size",), maximum=1), {"size": float("nan")}),
    (Condition(path=("size",), equals=1), {"size": True}),
    (Condition(path=("pull", "draft"), equals=True), {"pull": ["draft"]}),
    (Condition(path=("base",), one_of=("main",)), {"base": 1}),
    (Condition(path=("base",)), {"base": "main"}),
]


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize(("condition", "arguments"), HOLDS)
def test_a_condition_that_holds_makes_any_rule_match(action: Action, condition: Condition, arguments: dict[str, Any]):
    assert meets(action, condition, arguments)


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize(("condition", "arguments"), FAILS)
def test_a_condition_that_fails_makes_no_rule_match(action: Action, condition: Condition, arguments: dict[str, Any]):
    assert not meets(action, condition, arguments)


@pytest.mark.parametrize(("condition", "arguments"), DOUBTFUL)
def test_an_argument_that_is_absent_or_of_another_type_closes(condition: Condition, arguments: dict[str, Any]):
    assert [meets(action, condition, arguments) for action in (Action.ALLOW, Action.ASK, Action.DENY)] == [False, True, True]
