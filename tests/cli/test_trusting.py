"""Trust is given at a terminal, to what was shown there, and a change takes it back."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from mcp_server.cli.main import remit
from tests.cli.kept import Kept
from tests.cli.person import Person

AGENT = "---\ndescription: does more\nmode: subagent\npermission: {bash: {'git *': allow}}\n---\nYou do more.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".remit" / "agents"
    folder.mkdir(parents=True)
    (folder / "extra.md").write_text(AGENT)
    (folder.parent / "settings.yaml").write_text("permission: {edit: {'src/*': allow}, read: {'*.key': deny}}\n")
    return tmp_path / "project"


def status(environment: Mapping[str, str], workspace: Path) -> str:
    return CliRunner(env=dict(environment)).invoke(remit, ["trust", str(workspace), "--status"]).output


def test_trust_shows_what_would_count_and_takes_the_code(
    workspace: Path, environment: Mapping[str, str], tmp_path: Path, kept: Kept
) -> None:
    assert "not trusted" in status(environment, workspace)
    with Person(("trust", str(workspace)), environment, tmp_path) as person:
        person.sees("agent extra \\(subagent\\): does more")
        person.sees("bash git \\* allow")
        person.sees("settings.yaml: edit src/\\* allow")
        person.types_the_code("to trust it as it is now")
        assert person.leaves()[0] == 0
    assert "trusted, as it is now" in status(environment, workspace)
    (event,) = (stored.event for stored in kept.use(lambda store: store.audit_log()))
    assert (event.kind, event.outcome, event.ref) == ("trust", "trusted", str(workspace))
    listed = CliRunner(env=dict(environment)).invoke(remit, ["agents", "--json", "--workspace", str(workspace)]).stdout
    assert "extra" in [json.loads(line)["name"] for line in listed.splitlines()]


def test_a_change_takes_the_trust_back(workspace: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    with Person(("trust", str(workspace)), environment, tmp_path) as person:
        person.types_the_code("to trust it")
        assert person.leaves()[0] == 0
    (workspace / ".remit" / "agents" / "extra.md").write_text(AGENT.replace("git *", "*"))
    assert "has changed since" in status(environment, workspace)


def test_a_wrong_code_trusts_nothing(workspace: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    with Person(("trust", str(workspace)), environment, tmp_path) as person:
        person.sees("Type")
        person.types("aaaa")
        assert person.leaves()[0] == 2
    assert "not trusted" in status(environment, workspace)


def test_trust_is_withdrawn_by_the_code_typed_back(workspace: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    with Person(("trust", str(workspace)), environment, tmp_path) as person:
        person.types_the_code("to trust it")
        assert person.leaves()[0] == 0
    with Person(("trust", str(workspace), "--withdraw"), environment, tmp_path) as person:
        person.types_the_code("to trust it no more")
        assert person.leaves()[0] == 0
    assert "not trusted" in status(environment, workspace)


def test_what_holds_faults_is_not_trusted(workspace: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    (workspace / ".remit" / "agents" / "bad.md").write_text("---\nnmae: bad\n---\n")
    with Person(("trust", str(workspace)), environment, tmp_path) as person:
        code, said = person.leaves()
    assert code == 2
    assert "bad.md:2" in said
    assert "not trusted" in CliRunner(env=dict(environment)).invoke(remit, ["doctor", "--workspace", str(workspace)]).output


def test_a_workspace_without_a_remit_folder_needs_no_trust(environment: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    ended = CliRunner(env=dict(environment)).invoke(remit, ["trust", str(tmp_path / "bare")])
    assert ended.exit_code == 2
    assert "nothing to trust" in ended.output
