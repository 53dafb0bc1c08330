import pytest

from mcp_server.policy.chain import Commons
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, Mode, Reach
from tests.policy.universe import HOME, WORKSPACE, asks_for, command, member, path, ruling, verdict_of

STATE = f"{HOME}/.local/state/remit"
GUARDED = Commons(workspace=WORKSPACE, guard=guard_rules(WORKSPACE, HOME, STATE, (f"{HOME}/.config/remit", "/etc/remit")))
EVERYTHING = (member(0, "* * allow", mode=Mode.BYPASS),)
"""An agent that nothing but the guard holds back."""

PROTECTED = [
    *(".git", ".git/config", "lib/.git/hooks/pre-commit", ".bashrc", f"{HOME}/.zshrc", f"{HOME}/.config/fish/config.fish", ".envrc"),
    *(".vscode/tasks.json", ".idea/x", ".devcontainer/devcontainer.json", ".github/workflows/ci.yaml", ".gitlab-ci.yml", "Jenkinsfile"),
    *(".claude/settings.json", ".cursor/rules", ".mcp.json", ".remit", ".remit/settings.yaml", ".remit/agents/x.md"),
    *(".remit/plans/a/.remit/settings.yaml", ".remit/plans/.git/config", f"{HOME}/.config/remit/settings.yaml", "/etc/remit/settings.yaml"),
    *(f"{HOME}/.ssh/authorized_keys",),
]

FREE = [".gitignore", "src/git/a.py", ".remit/plans/a.md", ".remit/plans/deep/b.md", "docs/.envelope.md", "Jenkinsfile.md", "github/x"]


@pytest.mark.parametrize("name", PROTECTED)
def test_writing_a_protected_path_asks_whatever_is_allowed(name: str):
    assert verdict_of(EVERYTHING, asks_for("edit", path(name)), GUARDED).action is Action.ASK


@pytest.mark.parametrize("name", FREE)
def test_writing_what_only_looks_like_one_does_not(name: str):
    assert verdict_of(EVERYTHING, asks_for("edit", path(name)), GUARDED).action is Action.ALLOW


@pytest.mark.parametrize(
    ("name", "action"),
    [
        (".env", Action.ASK),
        ("a/.env.local", Action.ASK),
        (".env-prod", Action.ASK),
        (".envrc", Action.ASK),
        ("/opt/.env", Action.ASK),
        (".env.example", Action.ALLOW),
        ("a/.env.template", Action.ALLOW),
        ("env", Action.ALLOW),
        ("my.env", Action.ALLOW),
    ],
)
def test_reading_a_file_of_secrets_asks_and_its_example_does_not(name: str, action: Action):
    assert verdict_of(EVERYTHING, asks_for("read", path(name)), GUARDED).action is action


def test_a_link_to_a_file_of_secrets_is_one_whatever_its_name():
    assert verdict_of(EVERYTHING, asks_for("read", path(".env", unresolved=".env.example")), GUARDED).action is Action.ASK
    assert verdict_of(EVERYTHING, asks_for("read", path(".env", unresolved="notes.txt")), GUARDED).action is Action.ASK


def test_where_case_is_ignored_the_guard_ignores_it():
    assert verdict_of(EVERYTHING, asks_for("edit", path(".GIT/config", ignore_case=True)), GUARDED).action is Action.ASK
    assert verdict_of(EVERYTHING, asks_for("read", path(".ENV", ignore_case=True)), GUARDED).action is Action.ASK


@pytest.mark.parametrize("permission", ["read", "edit"])
def test_remits_own_state_is_closed(permission: str):
    for name in (STATE, f"{STATE}/remit.db"):
        assert verdict_of(EVERYTHING, asks_for(permission, path(name)), GUARDED).action is Action.DENY


def test_no_agent_operates_remit():
    spellings = (
        "remit approvals",
        "remit",
        "python3 -m mcp_server approvals",
        "uv run -m mcp_server",
        "python -m mcp_server.cli.main trust",
    )
    for value in (*map(command, spellings), command("/usr/bin/remit trust", "remit trust")):
        assert verdict_of(EVERYTHING, asks_for("bash", value), GUARDED).action is Action.DENY
    assert verdict_of(EVERYTHING, asks_for("bash", command("remittance")), GUARDED).action is Action.ALLOW


def test_every_rule_of_the_guard_that_closes_says_why():
    assert [str(rule) for rule in GUARDED.guard if rule.action is not Action.ALLOW and not rule.reason] == []


def test_plans_are_free_in_their_own_workspace_alone_and_where_its_name_holds_a_wildcard_too():
    assert verdict_of(EVERYTHING, asks_for("edit", path("/other/.remit/plans/a.md")), GUARDED).action is Action.ASK
    starred = Commons(workspace="/w*", guard=guard_rules("/w*", HOME, STATE))
    assert verdict_of(EVERYTHING, asks_for("edit", path(".remit/plans/a.md")), starred).action is Action.ALLOW
    assert verdict_of(EVERYTHING, asks_for("edit", path("/wx/.remit/plans/a.md")), starred).action is Action.ASK


def test_a_protected_path_is_opened_by_a_ruling_for_the_one_call_and_by_no_standing_one():
    requests = asks_for("edit", path(".git/config"))
    shown = verdict_of(EVERYTHING, requests, GUARDED).asks
    found = {
        reach: verdict_of(EVERYTHING, requests, GUARDED, (ruling(0, reach, shown, "edit .git/config allow"),)).action for reach in Reach
    }
    assert found == {Reach.ONCE: Action.ALLOW, Reach.SESSION: Action.ASK, Reach.TREE: Action.ASK}


def test_a_secret_may_be_opened_by_a_standing_ruling_that_showed_the_guards_ask():
    requests = asks_for("read", path(".env"))
    shown = verdict_of(EVERYTHING, requests, GUARDED).asks
    assert verdict_of(EVERYTHING, requests, GUARDED, (ruling(0, Reach.SESSION, shown, "read .env allow"),)).action is Action.ALLOW
