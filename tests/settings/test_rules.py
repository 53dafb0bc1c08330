"""Rules as people write them, and every way to write them wrongly."""

import pytest

from mcp_server.policy.values import Action, Condition, Reach, Rule
from mcp_server.settings.rules import Writer, parse_flag, read_rules
from mcp_server.strict_yaml import read_yaml


def read(text: str, writer: Writer = Writer.AGENT) -> tuple[tuple[Rule, ...], list[str]]:
    document = read_yaml(text, "f")
    assert document.faults == ()
    assert isinstance(document.value, dict)
    rules, faults = read_rules(document, ("p",), document.value["p"], writer)
    return rules, [str(fault) for fault in faults]


def faults(text: str, writer: Writer = Writer.AGENT) -> list[str]:
    return read(text, writer)[1]


def test_a_map_gives_its_rules_in_the_order_written():
    rules, wrong = read('p:\n  "*": ask\n  bash:\n    "*": deny\n    "git *": allow\n  read: allow\n')
    assert wrong == []
    assert [(str(rule), rule.origin) for rule in rules] == [
        ("* * ask", "f:2"),
        ("bash * deny", "f:4"),
        ("bash git * allow", "f:5"),
        ("read * allow", "f:6"),
    ]


def test_a_list_can_say_all_that_a_rule_holds():
    text = """p:
  - {permission: bash, pattern: "make *", action: allow, opaque: allow, reason: ours}
  - {permission: edit, action: deny, scope: self}
  - permission: gh__create
    action: allow
    when: {repo: a/b, owner.login: [x, y], size: {minimum: 1, maximum: 9}, title: {matches: "fix *"}, draft: false}
"""
    rules, wrong = read(text)
    assert wrong == []
    assert rules[0] == Rule(permission="bash", pattern="make *", action=Action.ALLOW, opaque=True, reason="ours", origin="f:2")
    assert rules[1] == Rule(permission="edit", pattern="*", action=Action.DENY, scope="self", origin="f:3")
    assert rules[2].when == (
        Condition(path=("repo",), equals="a/b"),
        Condition(path=("owner", "login"), one_of=("x", "y")),
        Condition(path=("size",), minimum=1.0, maximum=9.0),
        Condition(path=("title",), matches="fix *"),
        Condition(path=("draft",), equals=False),
    )


@pytest.mark.parametrize("text", ["p: {}", "p: []", "p:"])
def test_nothing_written_is_no_rules(text: str):
    assert read(text) == ((), [])


def test_managed_asks_may_name_who_answers_and_how_far():
    rules, wrong = read("p: [{permission: bash, action: ask, answer_by: approver, reach: once}]", Writer.MANAGED)
    assert (wrong, rules[0].answer_by, rules[0].reach) == ([], "approver", Reach.ONCE)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("p: allow", 'f:1: rules are a map or a list; write `{"*": allow}`, or a list of {permission, pattern, action}'),
        ("p:\n  edit: Deny", "f:2: `Deny` is not an action; did you mean `deny`?"),
        ("p:\n  edit: alow", "f:2: `alow` is not an action; did you mean `allow`?"),
        ("p:\n  edit: never", "f:2: `never` is not an action; write allow, ask or deny"),
        ("p:\n  edit: 3", "f:2: `3` is not an action; write allow, ask or deny"),
        ("p:\n  edit: true", "f:2: `true` is not an action; did you mean `allow`?"),
        ("p:\n  edit: false", "f:2: `false` is not an action; did you mean `deny`?"),
        ("p:\n  edit:", "f:2: there is no action; write allow, ask or deny"),
        (
            "p:\n  edit:\n    x: {action: deny}",
            "f:3: an action is one word; write allow, ask or deny; for a reason or a scope use the list form",
        ),
        ("p:\n  edit:\n    '': deny", 'f:3: the pattern of `edit` is empty; write "*" for every value'),
        ("p:\n  edti: deny", "f:2: `edti` is not a permission; did you mean `edit`?"),
        ("p:\n  Bash: deny", "f:2: `Bash` is not a permission; did you mean `bash`?"),
        ("p:\n  write: deny", "f:2: `write` is not a permission; did you mean `edit`?"),
        ("p:\n  MultiEdit: deny", "f:2: `MultiEdit` is not a permission; did you mean `edit`?"),
        ("p:\n  web-fetch: deny", "f:2: `web-fetch` is not a permission; did you mean `webfetch`?"),
        ("p:\n  mcp__gh__make: deny", "f:2: `mcp__gh__make` is not a permission; write `gh__make`"),
        ("p:\n  'a b': deny", "f:2: `a b` is not a permission; use letters, digits, `_`, `-` and the wildcards `*` and `?`"),
        (
            "p:\n  todoread: deny",
            "f:2: `todoread` is not a permission; remove it: `todoread` reaches only what is the caller's own and needs none",
        ),
        (
            "p:\n  todowrite: {x: deny}",
            'f:2: `todowrite` is asked with the value * alone; `x` never matches; write "*"; leave the pattern out',
        ),
        (
            "p:\n  question:\n    '*': deny\n    why: ask",
            'f:4: `question` is asked with the value * alone; `why` never matches; write "*"; leave the pattern out',
        ),
        (
            "p:\n  gh__*:\n    x*: deny",
            'f:3: `gh__*` is asked with the value * alone; `x*` never matches; write "*"; test arguments with `when` in the list form',
        ),
        ("p:\n  bash: {'git:*': allow}", 'f:2: `git:*` ends with :*, which is literal here; write "git *"'),
        ("p:\n  webfetch: {'domain:A.example': deny}", 'f:2: `domain:A.example` is no address; write "*://a.example/*"'),
        (
            "p:\n  webfetch: {'HTTPS://A.example/X*': deny}",
            'f:2: `HTTPS://A.example/X*` has capitals in its host, and addresses are judged in small letters; write "https://a.example/X*"',
        ),
        (
            "p:\n  webfetch: {'https://a.example': deny}",
            'f:2: `https://a.example` has no path, and every address that is judged has one; write "https://a.example/*"',
        ),
        ("p:\n  - edit", "f:2: a rule of the list is not a map; write {permission: …, pattern: …, action: …}"),
        ("p:\n  - permission: edit\n    acton: deny\n    action: deny", "f:3: unknown key `acton`; did you mean `action`?"),
        ("p:\n  - {permission: edit}", "f:2: the rule has no `action`; add allow, ask or deny"),
        (
            "p:\n  - {action: deny}",
            "f:2: the rule has no `permission`; write the permission as text, in quotes if it starts with * or a digit",
        ),
        (
            "p:\n  - permission: edit\n    pattern: 7\n    action: deny",
            "f:3: `pattern` is not text; write the pattern as text, in quotes if it starts with * or a digit",
        ),
        (
            "p:\n  - permission: edit\n    action: deny\n    scope: me",
            "f:4: `scope` is neither tree nor self; write tree or self, or leave it out for tree",
        ),
        ("p:\n  - permission: bash\n    action: allow\n    opaque: yes", "f:4: `opaque` is not allow; write `opaque: allow`, or remove it"),
        (
            "p:\n  - permission: bash\n    action: ask\n    opaque: allow",
            "f:4: `opaque: allow` stands in a rule that does not allow; remove it, or make the action allow",
        ),
        ("p:\n  - permission: bash\n    action: ask\n    reach: once", "f:4: `reach` is for managed settings alone; remove it here"),
        (
            "p:\n  - permission: bash\n    action: ask\n    answer_by: approver",
            "f:4: `answer_by` is for managed settings alone; remove it here",
        ),
        (
            "p:\n  - permission: bash\n    action: deny\n    when: {x: 1}",
            "f:4: `when` tests arguments of upstream tools, and `bash` names none; use a permission of the form <server>__<tool>",
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when: x",
            "f:4: `when` is not a map of tests; write {argument: value} or {argument: {matches: pattern}}",
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when:\n      x: {match: y}",
            "f:5: unknown key `match`; did you mean `matches`?",
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when:\n      x: {minimum: many}",
            "f:5: `minimum` has a value of the wrong kind; matches takes text, one_of a list, minimum and maximum a number",
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when: {x..y: 1}",
            "f:4: `x..y` names no argument; write its name, inner ones after a dot: owner.login",
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when: {x: 'docs/*'}",
            "f:4: the test of `x` compares with `docs/*` itself; its * stands for nothing else; "
            'write {matches: "docs/*"}; where the star itself is meant, {equals: …} or {one_of: […]}',
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when: {x: [a, 'b*']}",
            "f:4: the test of `x` compares with `b*` itself; its * stands for nothing else; "
            'write {matches: "b*"}; where the star itself is meant, {equals: …} or {one_of: […]}',
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when: {x: }",
            "f:4: the test of `x` is empty; write the value that the argument must have",
        ),
        (
            "p:\n  - permission: a__b\n    action: deny\n    when: {x: {}}",
            "f:4: the test is empty; use one of equals, matches, minimum, maximum, one_of",
        ),
    ],
)
def test_each_fault_names_its_line_and_what_to_do(text: str, fault: str):
    assert faults(text) == [fault]


@pytest.mark.parametrize("writer", [Writer.MANAGED, Writer.OTHER])
def test_scope_self_has_no_place_outside_agent_definitions(writer: Writer):
    wrong = faults("p:\n  - permission: edit\n    action: deny\n    scope: self", writer)
    assert wrong == [f"f:4: `scope: self` has no meaning in {writer.value}; use it in agent definitions only; remove it here"]


def test_a_managed_reach_must_be_one_and_stand_in_an_ask():
    assert faults("p: [{permission: bash, action: ask, reach: far}]", Writer.MANAGED) == [
        "f:1: `reach` is not a ruling's reach; write once, session or tree"
    ]
    assert faults("p: [{permission: bash, action: deny, reach: once}]", Writer.MANAGED) == [
        "f:1: `reach` stands in a rule that does not ask; remove it, or make the action ask"
    ]


def test_a_rule_with_a_fault_does_not_stand_among_the_rules():
    rules, wrong = read("p:\n  - {permission: edit, action: allow, scoop: self}\n  - {permission: read, action: allow}\n")
    assert [str(rule) for rule in rules] == ["read * allow"]
    assert len(wrong) == 1


@pytest.mark.parametrize("permission", ["*", "git*__*", "github__*", "github__get_?", "external_directory", "r*"])
def test_wildcards_and_upstream_tools_are_permissions(permission: str):
    assert faults(f"p: {{'{permission}': deny}}") == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("bash(git push *)", "bash git push * ask"),
        ("bash", "bash * ask"),
        ("edit(src/(a)/*)", "edit src/(a)/* ask"),
        ("bash(echo (x))", "bash echo (x) ask"),
        ("github__*", "github__* * ask"),
        ("*", "* * ask"),
    ],
)
def test_a_flag_is_a_permission_and_a_pattern(text: str, rule: str):
    parsed = parse_flag(text, Action.ASK)
    assert isinstance(parsed, Rule)
    assert (str(parsed), parsed.origin) == (rule, "--ask")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bash(git", "`bash(git` has no closing parenthesis at its end"),
        ("bash(git) x", "`bash(git) x` has no closing parenthesis at its end"),
        ("bash()", "the pattern of `bash` is empty"),
        ("", "`` is not a permission"),
        ("Edit(x)", "`Edit` is not a permission"),
        ("question(x)", "`question` is asked with the value * alone; `x` never matches"),
    ],
)
def test_a_malformed_flag_is_told_so(text: str, problem: str):
    parsed = parse_flag(text, Action.ALLOW)
    assert not isinstance(parsed, Rule)
    assert parsed[0] == problem
