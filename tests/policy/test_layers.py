"""One layer: the last matching rule, by scan and by compiled table, with and without what is for itself alone."""

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from mcp_server.policy.layers import opinion
from mcp_server.policy.matching import matches
from mcp_server.policy.values import Action, Layer, LayerKind, PathValue, Rule, Value
from tests.campaign import search
from tests.policy.universe import command, path, rule, rules

WORDS = [f"edit {pattern} {action}{mark}" for pattern in ("*", "other/*") for action in ("allow", "ask", "deny") for mark in ("", " self")]


def as_layer(kind: LayerKind, made: tuple[Rule, ...]) -> Layer:
    return Layer(kind=kind, owner="x", rules=made, may_allow=kind is LayerKind.AGENT)


def test_every_list_of_up_to_three_rules_says_what_its_last_match_says_above_and_below():
    target = path("src/a.py")
    for length in range(4):
        for texts in product(WORDS, repeat=length):
            made = tuple(map(rule, texts))
            matching = [each for each in made if each.pattern == "*"]
            below = [each for each in matching if each.scope == "tree"]
            own = matching[-1].action if matching else None
            ceiling = below[-1].action if below and below[-1].action is not Action.ALLOW else None
            assert opinion(as_layer(LayerKind.AGENT, made), target, "edit", {}).action is own
            assert opinion(as_layer(LayerKind.CEILING, made), target, "edit", {}).action is ceiling


PERMISSIONS = st.sampled_from(["edit", "read", "bash", "*", "e*", "?ead"])
PATTERNS = st.sampled_from(
    ["*", "**", "src/*", "src/a.py", "*.py", "*a*", "/ws/*", "SRC/*", "git *", "git", "g?t *", "*/src/?.py", "link/*", "src/a.p?", ""]
)


def said(permission: str, pattern: str, action: str, mark: str, anchored: bool) -> Rule:
    """Not anchored: as a loader must not hand it on, and a ruling may be kept."""
    made = rule(f"{permission} {pattern} {action}{mark}")
    return made if anchored else replace(made, anchored=None)


RULES = st.builds(said, PERMISSIONS, PATTERNS, st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(["", " self"]), st.booleans())
VALUES: list[tuple[str, Value]] = [
    ("edit", path("src/a.py")),
    ("edit", path("src/A.py", unresolved="link/a.py", ignore_case=True)),
    ("read", path("/srv/src/b.py")),
    ("bash", command("git push")),
    ("bash", command("time git", "git")),
]


@search(400)
@given(st.lists(RULES, max_size=40), st.sampled_from(VALUES), st.sampled_from([LayerKind.AGENT, LayerKind.CEILING]))
def test_a_layer_asked_again_and_so_compiled_says_the_same_as_a_scan_of_it(made: list[Rule], asked: tuple[str, Value], kind: LayerKind):
    permission, value = asked
    heard = [each for each in made if kind is LayerKind.AGENT or each.scope == "tree"]
    scanned = next((each for each in reversed(heard) if matches(each, permission, value, {})), None)
    layer = as_layer(kind, tuple(made))
    assert [opinion(layer, value, permission, {}).rule for _ in range(3)] == [scanned] * 3
    assert layer.readings[permission, isinstance(value, PathValue)] is not None
    assert isinstance(value, PathValue) == (permission != "bash")


def test_a_value_of_many_letters_and_a_pattern_of_many_stars_is_decided_at_once():
    value = command("a" * 20_000)
    made = rules(*[f"bash {'*a' * 200}*b deny"] * 3)
    layer = as_layer(LayerKind.AGENT, made)
    assert [opinion(layer, value, "bash", {}).rule for _ in range(2)] == [None, None]
