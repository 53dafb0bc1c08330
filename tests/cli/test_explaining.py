"""`explain`, `agents`, `doctor` and `test` tell the truth about a workspace's files."""

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from mcp_server.app import STORE_FILE
from mcp_server.cli.main import remit
from mcp_server.cli.state import FILE
from tests.cases_folder import CASES


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("one\n")
    return folder


def run(environment: Mapping[str, str], *arguments: str | Path) -> Result:
    return CliRunner(env=dict(environment)).invoke(remit, [str(argument) for argument in arguments])


def explained(environment: Mapping[str, str], workspace: Path, *arguments: str) -> dict[str, object]:
    ended = run(environment, "explain", *arguments, "--workspace", workspace, "--json")
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def settle(environment: Mapping[str, str], text: str) -> None:
    """The person's own settings."""
    config = Path(environment["REMIT_CONFIG_DIR"])
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.yaml").write_text(text)


# ---- explain ------------------------------------------------------------------------------------


SERVERS = """permission:
  github__resources: {"repo://private/*": deny}
  github__create_issue: allow
  github__prompts: {release: ask}
"""
WHEN = [{"permission": "github__*", "action": "allow", "when": {"repo": "example/one"}}]


@pytest.mark.parametrize(
    ("rules", "tool", "value", "action"),
    [
        (SERVERS, "github__create_issue", "*", "allow"),
        (SERVERS, "github__resources", "repo://private/x", "deny"),
        (SERVERS, "github__resources", "REPO://private//%78", "deny"),
        (SERVERS, "github__resources", "repo://open/x", "allow"),
        (SERVERS, "github__prompts", "release", "ask"),
        (json.dumps({"permission": WHEN}), "github__close", '{"repo": "example/one"}', "allow"),
        (json.dumps({"permission": WHEN}), "github__close", '{"repo": "example/two"}', "ask"),
    ],
)
def test_a_call_of_another_server_is_explained_with_what_its_rules_look_at(
    environment: Mapping[str, str], workspace: Path, rules: str, tool: str, value: str, action: str
) -> None:
    settle(environment, rules)
    assert explained(environment, workspace, "build", tool, value)["action"] == action


def test_of_an_allow_for_other_arguments_it_is_said_that_its_when_does_not_fit(environment: Mapping[str, str], workspace: Path) -> None:
    settle(environment, json.dumps({"permission": WHEN}))
    words = ("explain", "build", "github__close", '{"repo": "example/two"}', "--workspace", workspace)
    assert "settings.yaml:1]: its `when` does not fit the arguments)" in run(environment, *words).output
    told = run(environment, *(*words[:3], '{"repo": "example/one"}', *words[4:])).output
    assert "does not fit" not in told


@pytest.mark.parametrize(
    ("chain", "tool", "value", "action", "step"),
    [
        ("plan,explore", "edit", "src/a.py", "deny", "deny"),
        ("build,explore", "read", "src/a.py", "allow", "allow"),
        ("build", "read", "src/a.py", "allow", "mode"),
        ("build", "edit", "src/a.py", "ask", "mode"),
        ("build", "read", ".env", "ask", "ask"),
        ("build", "bash", "remit approvals", "deny", "deny"),
        ("build", "task", "explore", "allow", "mode"),
        ("build", "grep", '{"pattern": "x", "path": "src"}', "allow", "mode"),
        ("build", "todowrite", "anything", "allow", "mode"),
    ],
)
def test_a_call_is_explained_as_the_gate_would_decide_it(
    environment: Mapping[str, str], workspace: Path, chain: str, tool: str, value: str, action: str, step: str
) -> None:
    told = explained(environment, workspace, chain, tool, value)
    assert (told["action"], told["step"]) == (action, step)


def test_the_mode_may_be_named(environment: Mapping[str, str], workspace: Path) -> None:
    assert explained(environment, workspace, "build", "edit", "src/a.py", "--mode", "acceptEdits")["action"] == "allow"
    assert explained(environment, workspace, "build", "edit", "src/a.py", "--mode", "dontAsk")["action"] == "deny"


def test_an_explanation_names_the_rule_its_owner_and_the_way_out(environment: Mapping[str, str], workspace: Path) -> None:
    settle(environment, "permission: {edit: {'src/*': deny}}\n")
    text = run(environment, "explain", "build", "edit", "src/a.py", "--workspace", workspace).output
    assert "denied: `edit src/a.py` matches `edit src/*` deny of user settings" in text
    assert "settings.yaml:1" in text
    assert "- lift it in the person's settings; no allow elsewhere does" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("build,nobody", "read", "a"), "no agent is called nobody"),
        (("build", "session_info"), "needs no permission"),
        (("build", "read", "{"), "no JSON object"),
        (("build", "read", '{"path": "a"}'), "no arguments of read"),
        (("build", "read", "a\0b"), "NUL"),
    ],
)
def test_what_cannot_be_explained_is_told_in_words(
    environment: Mapping[str, str], workspace: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = run(environment, "explain", *arguments, "--workspace", workspace)
    assert ended.exit_code == 2
    assert said in ended.output
    assert "Traceback" not in ended.output


# ---- agents -------------------------------------------------------------------------------------


def test_agents_are_listed_without_the_hidden_ones(environment: Mapping[str, str], workspace: Path) -> None:
    listed = run(environment, "agents", "--workspace", workspace).output
    assert [line.split()[0] for line in listed.splitlines()] == ["AGENT", "build", "explore", "general", "plan"]
    everyone = [json.loads(line) for line in run(environment, "agents", "--all", "--json", "--workspace", workspace).output.splitlines()]
    assert {agent["name"] for agent in everyone if agent["hidden"]} == {"compaction", "summary", "title"}


def test_an_agent_is_shown_with_its_rules_and_the_persons(environment: Mapping[str, str], workspace: Path) -> None:
    settle(environment, "agents: {explore: {permission: {read: {'*.key': deny}}}}\n")
    shown = run(environment, "agents", "show", "explore", "--workspace", workspace).output
    assert "  edit * deny\n" in shown
    assert "  read *.key deny  (your settings)\n" in shown


def test_every_fault_of_every_agent_is_told_at_once(environment: Mapping[str, str], workspace: Path) -> None:
    folder = Path(environment["REMIT_CONFIG_DIR"]) / "agents"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text("---\ndescription: one\npermissionMode: plan\n---\nDo.\n")
    (folder / "two.md").write_text("---\ndescription: two\ntools: Read, Grep\n---\nDo.\n")
    ended = run(environment, "agents", "check", "--workspace", workspace)
    assert ended.exit_code == 2
    assert f"{folder}/one.md:3:" in ended.output
    assert f"{folder}/two.md:3:" in ended.output


# ---- doctor -------------------------------------------------------------------------------------


def test_doctor_finds_nothing_wrong_in_a_fresh_home(environment: Mapping[str, str], workspace: Path) -> None:
    ended = run(environment, "doctor", "--workspace", workspace)
    assert ended.exit_code == 0
    assert "FAULT" not in ended.output
    assert "none is set for" in ended.output


def test_doctor_names_each_fault_with_its_remedy(environment: Mapping[str, str], workspace: Path) -> None:
    settle(environment, "permision: {}\nmodel: 'nothing'\n")
    state = Path(environment["REMIT_STATE_DIR"])
    state.mkdir(mode=0o755)
    state.chmod(0o755)
    ended = run(environment, "doctor", "--workspace", workspace)
    assert ended.exit_code == 1
    assert f"chmod go-rwx '{state}'" in ended.output
    assert "unknown key `permision`" in ended.output


def test_doctor_checks_that_the_model_can_be_reached(environment: Mapping[str, str], workspace: Path) -> None:
    settle(environment, "model: scripted:absent.yaml\n")
    ended = run(environment, "doctor", "--workspace", workspace, "--json")
    assert ended.exit_code == 1
    models = [found for line in ended.output.splitlines() if (found := json.loads(line))["about"] == "model"]
    assert [found["state"] for found in models] == ["fault"]
    assert "absent.yaml" in models[0]["says"]


def test_doctor_says_so_where_the_store_is_damaged(environment: Mapping[str, str], workspace: Path) -> None:
    state = Path(environment["REMIT_STATE_DIR"])
    state.mkdir(mode=0o700)
    (state / FILE).touch(mode=0o600)
    (state / FILE).write_bytes(b"no database" * 999)
    ended = run(environment, "doctor", "--workspace", workspace)
    assert ended.exit_code == 1
    assert "FAULT store" in ended.output


def test_the_commands_and_the_server_look_for_the_store_in_one_place() -> None:
    assert FILE == STORE_FILE


# ---- test ---------------------------------------------------------------------------------------


def test_the_shared_cases_pass(environment: Mapping[str, str]) -> None:
    ended = run(environment, "test", CASES / "wildcards.yaml", CASES / "decisions.yaml", CASES / "spawns.yaml")
    assert ended.exit_code == 0
    assert ended.output.endswith(" passed, 0 failed\n")


def test_a_failing_case_ends_with_1_and_is_in_every_report(environment: Mapping[str, str], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("- {name: wrong, policy: {}, chain: [build], request: {permission: read, values: [a]}, want: deny}\n")
    junit = tmp_path / "junit.xml"
    ended = run(environment, "test", file, "--json", "--junit", junit)
    assert ended.exit_code == 1
    told = json.loads(ended.output)
    assert (told["passed"], told["failed"], told["cases"][0]["got"]) == (0, 1, "allow")
    suite = ElementTree.parse(junit).getroot()[0]  # noqa: S314 - our own report
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")


def test_a_malformed_case_file_ends_with_2(environment: Mapping[str, str], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("- {name: odd, polcy: {}, chain: [build], request: {permission: read, values: [a]}, want: deny}\n")
    ended = run(environment, "test", file)
    assert ended.exit_code == 2
    assert f"{file}:1" in ended.output


# ---- workspaces ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("agents",), ("explain", "build", "read", "a"), ("serve",)])
def test_no_command_takes_the_root_folder_for_a_workspace(environment: Mapping[str, str], command: tuple[str, ...]) -> None:
    ended = run(environment, *command, "--workspace", "/")
    assert ended.exit_code == 2
    assert "--workspace /path/to/project" in ended.output
