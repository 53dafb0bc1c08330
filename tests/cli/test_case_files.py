"""`remit test` below its command: reading, running and telling of case files."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcp_server.cli.cases.loaders import load_policy
from mcp_server.cli.cases.reading import read_cases
from mcp_server.cli.cases.reporting import as_json, as_junit, as_text
from mcp_server.cli.cases.running import CaseResult, End, run_cases
from mcp_server.errors import ConfigError

GOOD = """
- {pattern: "git *", value: git, match: true}
- {pattern: "git *", value: gitk, match: true}
- {rules: ["bash 'ls *' allow"], command: ls, exactly: allow}
"""


def ran(folder: Path, text: str) -> tuple[CaseResult, ...]:
    file = folder / "cases.yaml"
    file.write_text(text)
    return run_cases(read_cases([file]), load_policy)


def faults_of(folder: Path, text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(ConfigError) as caught:
        ran(folder, text)
    return [(fault.line, fault.problem) for fault in caught.value.faults]


def test_the_text_ends_with_what_passed_and_failed(tmp_path: Path):
    assert as_text(ran(tmp_path, GOOD)).splitlines() == [
        f"FAILED {tmp_path}/cases.yaml:3: 'git *' and 'gitk'",
        "  want match",
        "  got  no match",
        "2 passed, 1 failed",
    ]


def test_json_holds_every_case(tmp_path: Path):
    found = json.loads(as_json(ran(tmp_path, GOOD)))
    assert (found["passed"], found["failed"]) == (2, 1)
    assert [case["result"] for case in found["cases"]] == ["passed", "failed", "passed"]
    assert [case["line"] for case in found["cases"]] == [2, 3, 4]


def test_junit_counts_failures(tmp_path: Path):
    text = GOOD + '- {pattern: "\\x01", value: "\\x01", match: false}\n'
    suite = ElementTree.fromstring(as_junit(ran(tmp_path, text)))[0]  # noqa: S314 - our own text
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "0")
    assert [child.tag for case in suite for child in case] == ["failure", "failure"]


FAULTY = [
    ("- {pattern: a, value: a, match: true, mtach: false}", [(1, "unknown key `mtach`")]),
    ("\n- name: x\n  layers: []\n  request: {permission: read, values: [a], value: b}\n  want: allow\n", [(4, "unknown key `value`")]),
    ("- {pattern: a, match: true}", [(1, "needs either `value` or `repeat`")]),
    ("- {pattern: a, value: a}", [(1, "`match` is missing")]),
    ("- {name: x, what: y}", [(1, "no kind of case has these keys")]),
    ("a: b", [(1, "holds no list of cases")]),
    ("- {name: x, layers: [], want: allow}", [(1, "asks for nothing: `request` or `requests` is missing")]),
    ("- {command: ls}", [(1, "needs either `at_least` or `exactly`")]),
    ("- {pattern: a, pattern: b, value: a, match: true}", [(1, "the key `pattern` stands twice, first on line 1")]),
]


@pytest.mark.parametrize(("text", "faults"), FAULTY)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path: Path, text: str, faults: list[tuple[int, str]]):
    assert faults_of(tmp_path, text) == faults


def test_a_rule_that_cannot_be_read_is_a_fault_at_its_own_line(tmp_path: Path):
    text = """
- name: x
  chain:
    - agent: build
      rules:
        - "edit '*' deny"
        - "edit * allow"
  request: {permission: edit, values: [a]}
  want: deny
"""
    ((line, problem),) = faults_of(tmp_path, text)
    assert line == 7
    assert "`edit * allow` is no rule" in problem


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_cases([tmp_path / "none.yaml"])


REAL = """
- name: the person's settings ask
  policy: {settings: mine.yaml, agents: agents}
  chain: [lead, writer]
  request: {permission: bash, values: ["git push"]}
  want: {action: ask, step: ask}
- name: an ancestor's ban holds
  policy: {agents: agents}
  chain: [lead, writer]
  request: {permission: edit, values: [src/a.py]}
  want: {action: deny, step: deny}
- name: a workspace's own settings count in a case
  policy: {agents: agents, workspace: project}
  chain: [writer]
  request: {permission: webfetch, values: ["https://example.org/"]}
  want: {action: allow, step: allow}
- name: the built-in agents are there
  policy: {}
  chain: [build]
  request: {permission: task, values: [explore]}
  want: allow
- name: nobody defines it
  policy: {}
  chain: [nobody]
  request: {permission: read, values: [a]}
  want: allow
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text('permission: {bash: {"git push *": ask}}\n')
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "lead.md").write_text("---\ndescription: leads\npermission: {edit: deny}\n---\nLead.\n")
    (tmp_path / "agents" / "writer.md").write_text("---\ndescription: writes\npermission: {edit: allow, bash: allow}\n---\nWrite.\n")
    (tmp_path / "project" / ".remit").mkdir(parents=True)
    (tmp_path / "project" / ".remit" / "settings.yaml").write_text("permission: {webfetch: allow}\n")
    return tmp_path


def test_a_case_may_name_real_files(policy: Path):
    results = ran(policy, REAL)
    assert [result.end for result in results] == [End.PASSED] * 4 + [End.FAILED]
    assert "an agent that nobody defines" in results[-1].why


def test_a_fault_in_a_named_file_names_that_file(policy: Path):
    (policy / "mine.yaml").write_text("permision: {}\n")
    with pytest.raises(ConfigError) as caught:
        ran(policy, REAL)
    assert [Path(fault.file) for fault in caught.value.faults] == [policy / "mine.yaml"]


def test_a_named_file_that_is_not_there_is_a_fault(policy: Path):
    (policy / "mine.yaml").unlink()
    with pytest.raises(ConfigError, match=r"mine\.yaml: a case names it"):
        ran(policy, REAL)
