"""`remit install`: the entry is shown, asked for, written once and whole, and what was there is kept."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mcp_server.cli.install import CLIENTS
from mcp_server.cli.main import remit
from tests.cli.person import REMIT, Person

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="HOME does not move a person's folders on Windows")

FILES = {
    ("claude-code", False): ("project/.mcp.json", "mcpServers"),
    ("claude-code", True): ("home/.claude.json", "mcpServers"),
    ("vscode", False): ("project/.vscode/mcp.json", "servers"),
    ("cursor", False): ("project/.cursor/mcp.json", "mcpServers"),
    ("cursor", True): ("home/.cursor/mcp.json", "mcpServers"),
}
LINUX = {
    ("claude-desktop", False): ("home/.config/Claude/claude_desktop_config.json", "mcpServers"),
    ("vscode", True): ("home/.config/Code/User/mcp.json", "servers"),
}
MAC = {
    ("claude-desktop", False): ("home/Library/Application Support/Claude/claude_desktop_config.json", "mcpServers"),
    ("vscode", True): ("home/Library/Application Support/Code/User/mcp.json", "servers"),
}
PLACES = {**FILES, **(MAC if sys.platform == "darwin" else LINUX)}

OTHER = {"command": "other", "env": {"KEY": "geheim-ü"}}
OTHERS = {"theme": "dark", "mcpServers": {"other": OTHER}}


@pytest.fixture
def moved(environment: Mapping[str, str], tmp_path: Path) -> Mapping[str, str | None]:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    return {**environment, "XDG_CONFIG_HOME": None}


def install(moved: Mapping[str, str | None], tmp_path: Path, *words: str) -> Result:
    return CliRunner(env=moved).invoke(remit, ["install", *words, "--workspace", str(tmp_path / "project")])


def desktop(tmp_path: Path, content: str | None = None) -> Path:
    path = tmp_path / PLACES["claude-desktop", False][0]
    if content is not None:
        path.parent.mkdir(parents=True)
        path.write_text(content)
    return path


def entry_in(path: Path, key: str) -> dict[str, Any]:
    return json.loads(path.read_text())[key]["remit"]


@pytest.mark.parametrize(("client", "user"), PLACES)
def test_the_entry_starts_this_program_in_the_workspace(moved: Mapping[str, str | None], tmp_path: Path, client: str, user: bool) -> None:
    ended = install(moved, tmp_path, client, "--yes", *(["--user"] if user else []))
    assert ended.exit_code == 0, ended.output
    place, key = PLACES[client, user]
    written = entry_in(tmp_path / place, key)
    assert written["command"] == REMIT
    assert written["args"][0] == "serve"
    assert written["env"]["REMIT_STATE_DIR"] == str(tmp_path / "state")
    named = written["args"][1:]
    if client == "vscode" or (client == "cursor" and user):
        assert named == ["--workspace", "${workspaceFolder}"]
    else:
        assert named == ([] if user else ["--workspace", str(tmp_path / "project")])


def test_every_client_that_can_be_named_was_tried() -> None:
    assert {client for client, _ in PLACES} == set(CLIENTS)


def test_what_else_is_in_the_file_stays_and_what_was_there_is_kept(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    before = json.dumps(OTHERS, indent=4, ensure_ascii=False)
    path = desktop(tmp_path, before)
    path.chmod(0o640)
    ended = install(moved, tmp_path, "claude-desktop", "--yes")
    assert ended.exit_code == 0, ended.output
    read = json.loads(path.read_text())
    assert (read["theme"], read["mcpServers"]["other"], list(read["mcpServers"])) == (
        "dark",
        OTHER,
        ["other", "remit"],
    )
    assert "geheim-ü" in path.read_text()
    assert '\n    "theme"' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    kept = path.with_name(f"{path.name}.before-remit")
    assert kept.read_text() == before
    assert kept.stat().st_mode & 0o077 == 0


def test_a_second_time_changes_nothing(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    path = desktop(tmp_path, json.dumps(OTHERS))
    install(moved, tmp_path, "claude-desktop", "--yes")
    content = path.read_bytes()
    again = install(moved, tmp_path, "claude-desktop")
    assert (again.exit_code, path.read_bytes()) == (0, content)
    assert "nothing to do" in again.output
    assert len(list(path.parent.iterdir())) == 2


def test_what_a_person_added_to_the_entry_stays_when_it_is_renewed(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    mine = {"command": "/old/remit", "args": ["serve"], "env": {"SOME_API_KEY": "k"}, "disabled": True}
    path = desktop(tmp_path, json.dumps({"mcpServers": {"remit": mine}}))
    install(moved, tmp_path, "claude-desktop", "--yes")
    written = entry_in(path, "mcpServers")
    assert (written["command"], written["env"]["SOME_API_KEY"], written["disabled"]) == (REMIT, "k", True)


def test_two_backups_do_not_overwrite_each_other(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    path = desktop(tmp_path, "{}")
    install(moved, tmp_path, "claude-desktop", "--yes")
    install(moved, tmp_path, "claude-desktop", "--yes", "--name", "second")
    assert {kept.name for kept in path.parent.iterdir()} == {
        path.name,
        f"{path.name}.before-remit",
        f"{path.name}.before-remit-2",
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{\n  "mcpServers": {\n    oops\n  }\n}\n', ".json:3: is not JSON"),
        ('{"a": 1, // mine\n "b": 2}', ".json:1: is not JSON"),
        ('{"mcpServers": {}, "mcpServers": {"other": {}}}', "has the key 'mcpServers' twice"),
        ('{"mcpServers": []}', "`mcpServers` is no object"),
        ('{"mcpServers": {"remit": 1}}', "`mcpServers.remit` is no object"),
        ("[]", "is no JSON object"),
    ],
)
def test_a_file_that_cannot_be_written_back_whole_is_left_alone(
    moved: Mapping[str, str | None], tmp_path: Path, content: str, said: str
) -> None:
    path = desktop(tmp_path, content)
    ended = install(moved, tmp_path, "claude-desktop", "--yes")
    assert ended.exit_code == 2
    assert said in ended.output
    assert "--print" in ended.output
    assert [(file.name, file.read_text()) for file in path.parent.iterdir()] == [(path.name, content)]


def test_print_shows_the_change_and_writes_nothing(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    ended = install(moved, tmp_path, "claude-desktop", "--print")
    assert ended.exit_code == 0
    assert f'+      "command": "{REMIT}"' in ended.output
    assert not desktop(tmp_path).exists()


def test_without_a_terminal_it_needs_yes(environment: Mapping[str, str], moved: Mapping[str, str | None], tmp_path: Path) -> None:
    ended = subprocess.run(
        [REMIT, "install", "cursor", "--workspace", str(tmp_path / "project")],
        env={**environment, "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        start_new_session=True,
    )
    assert ended.returncode == 2
    assert "--yes" in ended.stderr
    assert not (tmp_path / "project" / ".cursor").exists()


@pytest.mark.parametrize(("typed", "code", "written"), [("y", 0, True), ("", 2, False), ("n", 2, False)])
def test_at_a_terminal_it_asks(
    environment: Mapping[str, str], moved: Mapping[str, str | None], tmp_path: Path, typed: str, code: int, written: bool
) -> None:
    with Person(("install", "cursor", "--workspace", str(tmp_path / "project")), environment, tmp_path) as person:
        person.sees(r"\+.*command")
        person.sees(r"Write this into Cursor's configuration\? \[y/N\]")
        person.types(typed)
        assert person.leaves()[0] == code
    assert (tmp_path / "project" / ".cursor" / "mcp.json").exists() is written


def test_a_link_stays_a_link(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path = desktop(tmp_path)
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    install(moved, tmp_path, "claude-desktop", "--yes")
    assert path.is_symlink()
    assert entry_in(real, "mcpServers")["command"] == REMIT


def test_a_folder_that_may_not_be_a_workspace_is_not_installed(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    ended = CliRunner(env=moved).invoke(remit, ["install", "claude-desktop", "--yes", "--workspace", str(tmp_path / "home")])
    assert ended.exit_code == 2
    assert "home folder" in ended.output
    assert not desktop(tmp_path).exists()


@pytest.mark.parametrize("name", ["", "a b", "ä", "n" * 21, "../x"])
def test_a_name_that_clients_choke_on_is_refused(moved: Mapping[str, str | None], tmp_path: Path, name: str) -> None:
    ended = install(moved, tmp_path, "claude-desktop", "--yes", "--name", name)
    assert ended.exit_code == 2
    assert "--name" in ended.output
    assert not desktop(tmp_path).exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_bridge_to_a_teams_server_is_written_with_its_address_alone(client: str, moved: Mapping[str, str | None], tmp_path: Path) -> None:
    told = install(moved, tmp_path, client, "--yes", "--connect", "https://remit.example.org/mcp")
    assert told.exit_code == 0, told.output
    path, key = PLACES[client, False]
    assert entry_in(tmp_path / path, key)["args"][-2:] == ["connect", "https://remit.example.org/mcp"]
    assert "run `remit connect https://remit.example.org/mcp --sign-in` once" in told.output.replace("Run", "run")


def test_a_bridge_over_plain_http_is_not_written(moved: Mapping[str, str | None], tmp_path: Path) -> None:
    told = install(moved, tmp_path, "claude-desktop", "--yes", "--connect", "http://remit.example.org/mcp")
    assert told.exit_code == 2
    assert "plain http" in told.output
