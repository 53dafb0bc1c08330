"""Everyday commands under sensible rules: how many ask although nothing is wrong with them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_server.policy.values import Action
from tests.shell.judging import action_of, under

LISTED: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("everyday.yaml").read_text(encoding="utf-8"))
COMMANDS = [(group["kind"], command) for group in LISTED["groups"] for command in group["commands"]]
FILES = (
    *("src/main.py", "src/other.py", "src/old.py", "src/a.py", "docs/guide.md", "README.md", "package.json", "build.log", "Makefile"),
    *("tests/test_a.py", "scripts/run.sh", "scripts/report.py", "scripts/build.js", "dist/x.js", "requirements.txt", ".git/config", ".env"),
)
"""What lies in the workspace; a secret and a protected folder too."""

MOST = 0.05


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_there_are_at_least_three_hundred_and_each_has_a_kind_and_a_source() -> None:
    assert len({command for _, command in COMMANDS}) >= 300
    assert all(group["kind"] and group["source"] for group in LISTED["groups"])


@pytest.mark.parametrize("held", [True, False])
def test_hardly_any_asks_without_need(workspace: Path, held: bool) -> None:
    held_by = under((re.sub(r"'(.*)'", r"\1", rule) for rule in LISTED["rules"]), workspace)
    asking = [command for _, command in COMMANDS if action_of(command, held_by, workspace, held=held) is not Action.ALLOW]
    assert len(asking) / len(COMMANDS) < MOST, asking


def test_all_that_only_look_need_no_rule(workspace: Path) -> None:
    held_by = under((), workspace)
    looking = [command for kind, command in COMMANDS if kind in ("looking around", "searching", "git, looking")]
    asking = [command for command in looking if action_of(command, held_by, workspace) is not Action.ALLOW]
    assert len(asking) / len(looking) < MOST, asking
