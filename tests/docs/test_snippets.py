"""What stands in the documents is true: cases come out as written, agents and settings load, lines of shell parse."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from mcp_server.agents.load import load_agents
from mcp_server.cli.main import remit
from mcp_server.settings.folder import read_folder
from mcp_server.settings.load import load_settings
from mcp_server.settings.places import Places
from mcp_server.settings.trust import give_trust
from tests.docs.pages import DOCS, ROOT, SNIPPETS, Snippet, files_shown_with

LANGUAGES = {"yaml", "json", "sh", "console", "markdown", "text", "nginx", "ini", "dockerfile"}
CASES = [snippet for snippet in SNIPPETS if snippet.cases]
AGENTS = [snippet for snippet in SNIPPETS if snippet.kind == "markdown"]
OTHER_FILES = {DOCS / "scripted-models.md", ROOT / "client_examples" / "sample" / "README.md"}
"""Pages whose YAML is a script of a model's."""
COMPOSE = "compose.yaml"
SETTINGS = [
    snippet
    for snippet in SNIPPETS
    if snippet.kind == "yaml" and not snippet.cases and snippet.page not in OTHER_FILES and snippet.title != COMPOSE
]
SHELL = [snippet for snippet in SNIPPETS if snippet.kind in {"sh", "console"}]


def each(snippets: Sequence[Snippet]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("snippet", snippets, ids=str)


def a_place(folder: Path) -> Places:
    """Folders of a person, and of an operator who is this user."""
    for name in ("home", "config/agents", "workspace/.remit", "managed/settings.d"):
        (folder / name).mkdir(parents=True)
    return Places(
        home=folder / "home",
        config=folder / "config",
        state=folder / "state",
        cache=folder / "cache",
        managed=folder / "managed",
        managed_owner=os.getuid(),
    )


def test_every_fence_says_what_it_holds() -> None:
    assert [str(snippet) for snippet in SNIPPETS if snippet.kind not in LANGUAGES] == []


@each(CASES)
def test_every_case_comes_out_as_it_is_written(snippet: Snippet, tmp_path: Path) -> None:
    for name, text in files_shown_with(snippet).items():
        if not name.startswith("/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    (tmp_path / "shown.yaml").write_text(snippet.text)
    ended = CliRunner().invoke(remit, ["test", str(tmp_path / "shown.yaml")])
    assert ended.exit_code == 0, ended.output
    assert f"{len(yaml.safe_load(snippet.text))} passed, 0 failed" in ended.output


@each(AGENTS)
def test_every_agent_loads(snippet: Snippet, tmp_path: Path) -> None:
    places = a_place(tmp_path)
    name = Path(snippet.title or "agents/shown.md").name
    (places.config / "agents" / name).write_text(snippet.text)
    agents = load_agents(places=places, settings=load_settings(workspace=tmp_path / "workspace", places=places))
    assert agents.notices == ()
    assert agents[name.removesuffix(".md")].prompt.strip()


@each(SETTINGS)
def test_settings_load_without_a_fault_where_they_belong(snippet: Snippet, tmp_path: Path) -> None:
    places = a_place(tmp_path)
    workspace = tmp_path / "workspace"
    if (snippet.title or "").startswith("/etc/remit"):
        (places.managed / "settings.yaml").write_text(snippet.text)
        places.managed.chmod(0o755)
    elif (snippet.title or "").startswith(".remit"):
        (workspace / ".remit" / "settings.yaml").write_text(snippet.text)
        give_trust(workspace, read_folder(workspace), places.state)
    else:
        (places.config / "settings.yaml").write_text(snippet.text)
    settings = load_settings(workspace=workspace, places=places)
    assert settings.origins or settings.commons.person or settings.commons.managed or settings.commons.project or settings.commons.guard


@each([snippet for snippet in SNIPPETS if snippet.kind in {"json", "yaml"}])
def test_every_snippet_of_data_can_be_read(snippet: Snippet) -> None:
    read = json.loads(snippet.text) if snippet.kind == "json" else yaml.safe_load(snippet.text)
    assert read


@each(SHELL)
def test_every_line_of_shell_parses(snippet: Snippet) -> None:
    typed = snippet.text if snippet.kind == "sh" else "\n".join(line[2:] for line in snippet.text.splitlines() if line.startswith("$ "))
    assert typed.strip()
    ended = subprocess.run(["bash", "-n"], input=typed, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_there_is_something_of_everything() -> None:
    assert min(len(CASES), len(AGENTS), len(SETTINGS), len(SHELL)) >= 5
