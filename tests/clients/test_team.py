"""The team of `client_examples`: a subagent, another server behind Remit, and one person who answers both."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.clients.configurations import EXAMPLES
from tests.clients.test_terminal_clients import each_era, python

SENDS, ALLOWS, TEAM = "1\n\n", "1\n\n", "1\n"


@pytest.fixture
def team(tmp_path: Path, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace of a copy. `python` is the one of these tests."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "home").mkdir()
    shutil.copytree(EXAMPLES / "team" / "config", environment["REMIT_CONFIG_DIR"])
    return shutil.copytree(EXAMPLES / "team" / "workspace", tmp_path / "team")


@each_era
def test_what_a_caller_may_not_its_subagent_may_not_and_a_servers_own_question_reaches_the_same_person(
    era: str, version: str, team: Path, environment: Mapping[str, str]
) -> None:
    code, said = python(era, f"chief: publish the plan\n{SENDS}{ALLOWS}{TEAM}\n", team, environment)
    assert code == 0
    assert f"protocol {version}" in said
    assert "build › chief › editor wants to use notes__publish_note:" in said
    assert "The MCP server `notes` asks you, while build › chief › editor uses notes__publish_note:" in said
    assert "published plan for team" in said
    assert "`notes__remove_note *` deny of agent chief, an ancestor" in said
    assert (team / "published.txt").read_text() == "team: Open on Monday, with bread.\n"
    assert (team / "notes" / "old.txt").exists()


def test_without_the_persons_leave_the_server_is_not_called(team: Path, environment: Mapping[str, str]) -> None:
    code, said = python("auto", f"chief: publish the plan\n{SENDS}4\nnot now\n\n", team, environment)
    assert code == 0
    assert "denied by the person: the person says: not now" in said
    assert not (team / "published.txt").exists()
