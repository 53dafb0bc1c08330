from dataclasses import replace

import pytest

from mcp_server.policy.matching import anchor, matches
from mcp_server.policy.values import Action, PathValue, Rule
from tests.policy.universe import command, path, rule


def written(pattern: str, permission: str = "edit", action: Action = Action.DENY) -> Rule:
    return Rule(permission=permission, pattern=pattern, action=action)


ANCHORS = [
    ("*.env", None),
    ("*", None),
    ("/etc/*", None),
    ("C:/src/*", None),
    ("src/*", "/ws/src/*"),
    ("?", "/ws/?"),
    ("./src", "/ws/src"),
    ("../other/*", "/other/*"),
    (".", "/ws"),
    ("~/notes/*", "/home/person/notes/*"),
    ("$HOME/notes/*", "/home/person/notes/*"),
    ("~other/x", "/ws/~other/x"),
]


@pytest.mark.parametrize(("pattern", "anchored"), ANCHORS)
def test_a_pattern_without_a_root_is_anchored_and_any_other_stays(pattern: str, anchored: str | None):
    assert anchor(written(pattern), "/ws", "/home/person").anchored == anchored


def test_rules_that_no_path_can_meet_are_not_anchored():
    assert anchor(written("./gradlew *", "bash"), "/ws").anchored is None
    assert anchor(written("src/*", "e*"), "/ws").anchored == "/ws/src/*"
    assert anchor(written("src/*", "*"), "/ws").anchored == "/ws/src/*"


def test_a_rule_of_every_permission_meets_paths_where_it_is_anchored_and_commands_as_written():
    both = anchor(written("make", "*"), "/ws")
    assert matches(both, "edit", path("make"), {})
    assert matches(both, "bash", command("make"), {})
    assert not matches(both, "edit", path("/elsewhere/make"), {})


def test_an_allow_is_not_widened_by_a_workspace_whose_name_holds_a_wildcard():
    allow = anchor(written("src/*", action=Action.ALLOW), "/home/w*")
    inside = PathValue(resolved="/home/w*/src/a", relative="src/a", unresolved="/home/w*/src/a")
    beside = PathValue(resolved="/home/wicked/src/a", relative=None, unresolved="/home/wicked/src/a")
    assert matches(allow, "edit", inside, {})
    assert not matches(allow, "edit", beside, {})
    assert matches(anchor(written("src/*"), "/home/w*"), "edit", inside, {})


LINKED = path("real/a.txt", unresolved="link/a.txt")


@pytest.mark.parametrize("action", [Action.DENY, Action.ASK])
def test_a_deny_or_ask_matches_the_path_as_resolved_and_as_asked(action: Action):
    for pattern in ("real/*", "link/*", "*/a.txt", "/ws/real/a.txt"):
        assert matches(anchor(written(pattern, action=action), "/ws"), "edit", LINKED, {})


def test_an_allow_matches_the_resolved_path_alone():
    def allowed(pattern: str) -> bool:
        return matches(anchor(written(pattern, action=Action.ALLOW), "/ws"), "edit", LINKED, {})

    assert allowed("real/*")
    assert not allowed("link/*")


def test_where_the_file_system_ignores_case_a_deny_does_and_an_allow_does_not():
    shouted = replace(path("SECRET/Café"), ignore_case=True)
    assert matches(anchor(written("secret/cafe\u0301"), "/ws"), "edit", shouted, {})
    assert not matches(anchor(written("secret/*", action=Action.ALLOW), "/ws"), "edit", shouted, {})
    assert not matches(anchor(written("secret/*"), "/ws"), "edit", replace(shouted, ignore_case=False), {})


def test_a_deny_matches_any_form_of_a_command_and_an_allow_only_the_one_written():
    wrapped = command("time /bin/rm a", "/bin/rm a", "rm a")
    assert matches(rule("bash rm * deny"), "bash", wrapped, {})
    assert matches(rule("bash rm * ask"), "bash", wrapped, {})
    assert not matches(rule("bash rm * allow"), "bash", wrapped, {})
    assert matches(rule("bash time * allow"), "bash", wrapped, {})
